package plugin

import (
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// Spans of a call stream, in milliseconds.
const (
	// greetWithin is how long the service may take to answer the greeting. A proxy
	// that just started has its connections to make.
	greetWithin = 5_000
	// overdue is how long after its deadline a call must stay without a reply before
	// the service counts as hanging: it answers every call by then.
	overdue = 1_000
	// firstPause and longestPause are the least and the most that pass from the end
	// of a stream to the next one.
	firstPause   = 1_000
	longestPause = 30_000
)

// tick opens the stream when there is none and its time has come, and ends one whose
// service hangs.
func (c *callStream) tick(p *plugin, now core.Instant) {
	if !c.wanted {
		return
	}
	switch {
	case !c.live:
		p.giveUp() // what was lost within another callback
		if p.sync.sawStream && now >= c.retry {
			c.begin(now)
		}
	case !c.greeted && now-c.since > greetWithin:
		c.cancel(p, now, "it does not answer")
	case c.greeted && c.hangs(now):
		c.cancel(p, now, "it does not answer any more")
	}
}

// hangs notes whether the service owes replies, and reports whether it owes one for so
// long that it will not give it.
func (c *callStream) hangs(now core.Instant) bool {
	c.owing = false
	for _, waiting := range c.open {
		if now > waiting.by+overdue {
			return true
		}
		c.owing = c.owing || now > waiting.by
	}
	return false
}

func (c *callStream) begin(now core.Instant) {
	c.opening, c.refused = true, false
	token, err := abi.OpenStream(c.service, wire.CallsService, wire.CallsMethod, c.metadata)
	c.opening = false
	if err != nil || c.refused {
		reason := "the host opens none"
		if err != nil {
			reason = fmt.Sprintf("the host opens none: %v", err)
		}
		c.fail(now, reason)
		return
	}
	c.live, c.token, c.since, c.last = true, token, now, 0
	if _, sent := c.write(); !sent && c.live {
		c.live = false
		c.fail(now, "the host sends nothing")
	}
}

// greeting is the number of the greeting.
const greeting = 1

func (c *callStream) welcome() {
	c.greeted, c.pause = true, firstPause
	c.opened.add(1)
	if c.failing {
		c.failing = false
		abi.Log(abi.LevelInfo, "calls go to the state service on a stream again")
	}
}

// cancel ends the stream and all calls on it.
func (c *callStream) cancel(p *plugin, now core.Instant, reason string) {
	c.live = false
	if err := abi.CancelStream(c.token); err != nil {
		logf(abi.LevelError, "the stream to the state service cannot be ended: %v", err)
	}
	c.end(now, reason)
	p.giveUp()
}

// closed takes note that the host has ended a stream.
func (c *callStream) closed(token, status uint32, now core.Instant) {
	switch {
	case c.opening:
		c.refused = true
	case c.live && token == c.token:
		c.live = false
		c.end(now, fmt.Sprintf("it was closed with gRPC status %d", status))
	}
}

// end is the end of a stream that was there.
func (c *callStream) end(now core.Instant, reason string) {
	if c.greeted {
		c.lost.add(1)
	}
	c.greeted, c.owing = false, false
	c.fail(now, reason)
}

// fail sets the time of the next stream and logs the first failure of a row.
func (c *callStream) fail(now core.Instant, reason string) {
	c.retry = now + c.pause
	c.pause = min(2*c.pause, longestPause)
	if !c.failing {
		c.failing = true
		logf(abi.LevelWarn, "state.call_stream: no stream to the state service: %s; calls go by HTTP requests until there is one. state.cluster must speak HTTP/2 (http2_protocol_options)", reason)
	}
}

// StreamClosed implements abi.Plugin. Within another callback that one's request comes
// first: those that waited are told at the next tick.
func (p *plugin) StreamClosed(token, status uint32, within bool) {
	p.calls.stream.closed(token, status, p.clock.Now())
	if !within && !p.calls.stream.live {
		p.giveUp()
	}
}
