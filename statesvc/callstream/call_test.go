package callstream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

// requireSame holds a call that was decoded against what the generated code reads.
func requireSame(t *testing.T, message []byte) {
	t.Helper()
	got, err := callstream.Decode(message)
	var want wirepb.Call
	if proto.Unmarshal(message, &want) != nil {
		return // parts that are broken inside are the handler's to refuse
	}
	require.NoError(t, err)
	require.Equal(t, want.GetNumber(), got.Number)
	require.Equal(t, want.GetBody(), append([]byte(nil), got.Body...))
	require.Equal(t, want.GetObserve() != nil, got.Observe != nil)
	require.Equal(t, want.GetBind() != nil, got.Bind != nil)
	require.Equal(t, want.GetObserve() == nil && want.GetBind() == nil, got.Greeting())
	var observe wirepb.ObserveRequest
	require.NoError(t, proto.Unmarshal(got.Observe, &observe))
	var bind wirepb.BindRequest
	require.NoError(t, proto.Unmarshal(got.Bind, &bind))
	if want.GetObserve() != nil {
		require.Empty(t, cmp.Diff(want.GetObserve(), &observe, protocmp.Transform()))
	}
	if want.GetBind() != nil {
		require.Empty(t, cmp.Diff(want.GetBind(), &bind, protocmp.Transform()))
	}
}

// messages are calls by what is particular about them.
func messages(t testing.TB) map[string][]byte {
	t.Helper()
	observe := encoded(t, &wirepb.Call{Number: 7, Observe: &wirepb.ObserveRequest{Context: 1, Model: "m", Tokens: true}, Body: []byte("the body")})
	more := encoded(t, &wirepb.Call{Observe: &wirepb.ObserveRequest{Sources: []string{"local"}, Path: "/p"}, Body: []byte("another")})
	return map[string][]byte{
		"nothing":           {},
		"a greeting":        encoded(t, &wirepb.Call{Number: 1<<32 - 1}),
		"an observe":        observe,
		"an empty observe":  encoded(t, &wirepb.Call{Observe: &wirepb.ObserveRequest{}}),
		"a bind":            encoded(t, &wirepb.Call{Number: 3, Bind: &wirepb.BindRequest{Context: 2, Proposals: []*wirepb.Proposal{{Worker: "a"}}}}),
		"in two parts":      append(append([]byte(nil), observe...), more...),
		"unknown fields":    protowire.AppendVarint(protowire.AppendTag(append([]byte(nil), observe...), 99, protowire.VarintType), 1),
		"of another type":   protowire.AppendVarint(protowire.AppendTag(append([]byte(nil), observe...), 4, protowire.VarintType), 1),
		"a number of 64":    protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1<<40+5),
		"a broken observe":  protowire.AppendBytes(protowire.AppendTag([]byte{8, 9}, 2, protowire.BytesType), []byte{0xff}),
		"cut off":           observe[:len(observe)-1],
		"no message at all": []byte("garbage"),
	}
}

func TestDecode(t *testing.T) {
	all := messages(t)
	for name, message := range all {
		t.Run(name, func(t *testing.T) { requireSame(t, message) })
	}
	for _, bad := range []string{"cut off", "no message at all"} {
		_, err := callstream.Decode(all[bad])
		require.ErrorContains(t, err, "not a call", bad)
	}
	c, err := callstream.Decode(all["a broken observe"])
	require.NoError(t, err, "its sender is told by the number")
	require.EqualValues(t, 9, c.Number)
}

// A part that comes twice must not be put together in the message, whose other parts stand there.
func TestDecode_leavesTheMessage(t *testing.T) {
	message := messages(t)["in two parts"]
	before := append([]byte(nil), message...)
	_, err := callstream.Decode(message)
	require.NoError(t, err)
	require.Equal(t, before, message)
}

func FuzzDecode(f *testing.F) {
	for _, message := range messages(f) {
		f.Add(message)
	}
	f.Fuzz(requireSame)
}
