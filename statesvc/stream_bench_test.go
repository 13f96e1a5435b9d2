package statesvc_test

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/callstream/callstreamtest"
)

// BenchmarkObserve_stream is BenchmarkObserve over streams of calls, for bodies that come
// over them.
func BenchmarkObserve_stream(b *testing.B) {
	stage := newObserving(b)
	chats(b, []int{4 << 10}, func(b *testing.B, bodies func(caller int) func() string) {
		stage.measure(b, bodies, streamed, stage.callStream)
	})
}

// streamed is a call as it goes over a stream.
func streamed(body string) []byte {
	return callstreamtest.Frame(wire.AppendCall(nil, &wire.Call{
		Number: 1, Observe: &wire.ObserveRequest{
			Context: 1, Model: "m", Asked: "m", Path: "/v1/chat/completions", TimeoutMillis: 10_000, Tokens: true, Sources: []string{"local"},
		}, Body: body,
	}))
}

// callStream sends calls over one stream, each once the one before is answered.
func (o *observing) callStream(b *testing.B, calls [][]byte) (times []time.Duration) {
	c, err := callstreamtest.Dial(o.addr, callstreamtest.Window)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = c.Close() }()
	for _, call := range calls {
		began := time.Now()
		var reply []byte
		if err = c.Send(call); err == nil {
			reply, err = c.Receive()
		}
		var decoded wire.CallReply
		if err == nil {
			decoded, err = wire.DecodeCallReply(reply)
		}
		if err != nil || decoded.Observed == nil {
			b.Errorf("no reply to an observe: %v %q", err, decoded.Refused)
			return times
		}
		times = append(times, time.Since(began))
	}
	return times
}
