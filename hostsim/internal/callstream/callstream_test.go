package callstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/internal/callstream"
)

// The filter's end is core/wire.

func TestCalls(t *testing.T) {
	observe := &wire.ObserveRequest{Context: 7, Model: "m"}
	bind := &wire.BindRequest{Context: 7}
	tests := []struct {
		name   string
		call   wire.Call
		path   string
		answer callstream.Answer
		want   wire.CallReply
	}{
		{"greeting", wire.Call{Number: 1}, "", callstream.Answer{}, wire.CallReply{Number: 1}},
		{
			"observe", wire.Call{Number: 2, Observe: observe, Body: "b"}, wire.ObservePath, callstream.Answer{},
			wire.CallReply{Number: 2, Observed: &wire.ObserveReply{}},
		},
		{
			"bind", wire.Call{Number: 3, Bind: bind}, wire.BindPath, callstream.Answer{},
			wire.CallReply{Number: 3, Bound: &wire.BindReply{}},
		},
		{
			"refused", wire.Call{Number: 4, Bind: bind}, wire.BindPath, callstream.Answer{Refused: "overloaded"},
			wire.CallReply{Number: 4, Refused: "overloaded"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call, err := callstream.Decode(wire.AppendCall(nil, &tt.call))
			require.NoError(t, err)
			require.Equal(t, tt.call.Number, call.Number)
			require.Equal(t, tt.call.Body, string(call.Body))
			require.Equal(t, tt.path, call.Path())
			if tt.call.Observe != nil {
				require.Equal(t, wire.AppendObserveRequest(nil, observe), call.Observe)
			}
			reply, err := wire.DecodeCallReply(call.Reply(tt.answer))
			require.NoError(t, err)
			require.Equal(t, tt.want, reply)
		})
	}
}

func TestDecode_refusesWhatIsNoMessage(t *testing.T) {
	for _, msg := range [][]byte{{0xff}, {0x12, 0x05, 'x'}, {0x08}} {
		_, err := callstream.Decode(msg)
		require.Error(t, err)
	}
}
