package wirepb_test

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// The calls of a stream are written and read by hand in core/wire too.

func TestAppendCall(t *testing.T) {
	d := digest("0123456789abcdef")
	calls := map[string]struct {
		call wire.Call
		want *wirepb.Call
	}{
		"greeting": {wire.Call{Number: 1}, &wirepb.Call{Number: 1}},
		"observe": {
			wire.Call{Number: 1 << 31, Observe: &wire.ObserveRequest{Context: 7, Model: "m", Tokens: true, Sources: []string{"local"}}, Body: `{"model":"m"}`},
			&wirepb.Call{Number: 1 << 31, Observe: &wirepb.ObserveRequest{Context: 7, Model: "m", Tokens: true, Sources: []string{"local"}}, Body: []byte(`{"model":"m"}`)},
		},
		"bind": {
			wire.Call{Number: 2, Bind: &wire.BindRequest{Context: 7, TimeoutMillis: 150, Proposals: []wire.Proposal{{Scope: wire.Scope{Digest: d}, Worker: "e"}}}},
			&wirepb.Call{Number: 2, Bind: &wirepb.BindRequest{Context: 7, TimeoutMs: 150, Proposals: []*wirepb.Proposal{{Scope: &wirepb.Scope{Digest: d[:]}, Worker: "e"}}}},
		},
	}
	for name, c := range calls {
		var got wirepb.Call
		require.NoError(t, proto.Unmarshal(wire.AppendCall(nil, &c.call), &got), name)
		require.Empty(t, cmp.Diff(c.want, &got, protocmp.Transform()), name)
	}
}

func TestDecodeCallReply(t *testing.T) {
	msg := encode(t, &wirepb.CallReply{Number: 1<<32 - 1, Observed: sampleObserved(), Bound: &wirepb.BindReply{Bindings: sampleBindings()}, Refused: "overloaded"})
	got, err := wire.DecodeCallReply(msg)
	require.NoError(t, err)
	want := wire.CallReply{Number: 1<<32 - 1, Observed: observed(sampleObserved()), Bound: &wire.BindReply{Bindings: bindings(sampleBindings())}, Refused: "overloaded"}
	require.Empty(t, cmp.Diff(want, got))
	clear(msg) // hosts reuse the memory of a message
	require.Empty(t, cmp.Diff(want, got))

	got, err = wire.DecodeCallReply(encode(t, &wirepb.CallReply{Number: 3}))
	require.NoError(t, err)
	require.Equal(t, wire.CallReply{Number: 3}, got)
}

// What cannot be read is no answer to the call that it names.
func TestDecodeCallReply_that_is_broken(t *testing.T) {
	got, err := wire.DecodeCallReply(encode(t, &wirepb.CallReply{Number: 5, Bound: &wirepb.BindReply{Bindings: []*wirepb.Binding{{Digest: []byte("short")}}}}))
	require.EqualError(t, err, "call reply: field 3: bind reply: field 1: field 1: a digest must have 16 bytes")
	require.Equal(t, wire.CallReply{Number: 5}, got)
}

func FuzzDecodeCallReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, &wirepb.CallReply{Number: 9, Observed: sampleObserved(), Bound: &wirepb.BindReply{Bindings: sampleBindings()}, Refused: "overloaded"}))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var want wirepb.CallReply
		generated := proto.Unmarshal(msg, &want)
		got, err := wire.DecodeCallReply(msg)
		if agree(t, generated, err) {
			require.Equal(t, want.GetNumber(), got.Number)
			require.Equal(t, want.GetRefused(), got.Refused)
		}
	})
}

// Hosts read the service with the generated code of their API.
func TestAppendGRPCService(t *testing.T) {
	var got corev3.GrpcService
	require.NoError(t, proto.Unmarshal(wire.AppendGRPCService(nil, "pointsman_state", "state.example:443"), &got))
	want := &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
		EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: "pointsman_state", Authority: "state.example:443"},
	}}
	require.Empty(t, cmp.Diff(want, &got, protocmp.Transform()))
}
