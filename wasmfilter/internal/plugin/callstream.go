package plugin

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// callStream is the one stream on which a context makes the calls that requests wait
// for (state.call_stream). A host makes a whole HTTP stream for every HTTP request, and
// writes a message for every message.
//
// Calls go on it from the moment that the service has answered a greeting, and as
// long as it owes no reply. Whoever finds it not usable makes an HTTP request: that has
// a deadline which the host keeps, and goes to whichever replica is there.
type callStream struct {
	wanted   bool
	service  []byte // the cluster, as the host names one for gRPC
	metadata []byte // of every stream, in the host's form

	live    bool   // there is a stream, greeted or not
	token   uint32 // the host's number of it
	greeted bool   // the service has answered the greeting
	owing   bool   // the service owes a reply whose deadline is over
	last    uint32 // number of the last call
	since   core.Instant
	open    map[uint32]promised // by number

	retry   core.Instant // no other stream before
	pause   core.Instant // from the end of the next stream on
	failing string       // why, as last logged; empty when all is well
	opened  counter
	lost    counter

	message []byte // being sent
}

// promised is a call that has a reply coming, at the latest at some instant.
type promised struct {
	call
	by core.Instant
}

// configure takes the cluster and what every stream begins with.
func (c *callStream) configure(state *spec.State, headers [][2]string) {
	c.opened.name = "pointsman_call_streams_total_outcome=opened"
	c.lost.name = "pointsman_call_streams_total_outcome=lost"
	if c.wanted = state.CallStream; !c.wanted {
		return
	}
	c.service, c.open, c.pause = wire.AppendGRPCService(nil, state.Cluster, state.Authority), map[uint32]promised{}, firstPause
	var metadata [][2]string
	for _, h := range headers {
		if h[0] == authorization {
			metadata = append(metadata, h)
		}
	}
	c.metadata = abi.AppendPairs(nil, metadata)
}

// takes reports whether a further call, with so long a body, goes on the stream.
func (c *callStream) takes(body int) bool {
	return c.greeted && !c.owing && body <= wire.MaxCallBody && len(c.open) < wire.MaxCalls
}

// send makes a call, and reports whether a reply will come. The stream belongs to the
// plugin, which is the effective context meanwhile.
func (c *callStream) send(waiting call, m *wire.Call, timeoutMillis uint32) bool {
	s := waiting.stream
	if abi.SetEffectiveContext(s.plugin.id) != nil {
		return false
	}
	sent := c.write(m)
	if err := abi.SetEffectiveContext(s.id); err != nil {
		logf(abi.LevelError, "stream context cannot be restored: %v", err)
	}
	if sent {
		c.open[m.Number] = promised{waiting, s.plugin.event.Now + core.Instant(timeoutMillis)}
	}
	return sent
}

// write numbers a call and sends it.
func (c *callStream) write(m *wire.Call) (sent bool) {
	c.last++
	m.Number = c.last
	c.message = wire.AppendCall(c.message[:0], m)
	return abi.Send(c.token, c.message) == nil
}

// StreamMessage implements abi.Plugin: a reply on the call stream.
func (p *plugin) StreamMessage(token uint32, size int) {
	c := &p.calls.stream
	if !c.live || token != c.token {
		return
	}
	message, err := abi.StreamMessage(size)
	if err != nil {
		return
	}
	reply, err := wire.DecodeCallReply(message) // one that cannot be read is no answer
	if reply.Number == greeting && err == nil && !c.greeted {
		c.welcome()
		return
	}
	waiting, ok := c.open[reply.Number]
	if !ok {
		return
	}
	delete(c.open, reply.Number)
	p.event = flow.Event{Kind: waiting.kind, Call: waiting.number, Observed: reply.Observed, Bound: reply.Bound}
	p.answered(waiting.stream)
}

// giveUp tells all requests that wait for the stream that nothing will come, in the
// order in which they asked. The plugin is the effective context before and after.
func (p *plugin) giveUp() {
	c := &p.calls.stream
	if len(c.open) == 0 {
		return
	}
	lost := c.open
	c.open = map[uint32]promised{}
	for _, number := range slices.Sorted(maps.Keys(lost)) {
		waiting := lost[number]
		p.event = flow.Event{Kind: waiting.kind, Call: waiting.number}
		p.answered(waiting.stream)
	}
}
