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
		if p.sync.sawStream && now >= c.retry {
			c.begin(now)
		}
	case !c.greeted && now-c.since > greetWithin:
		c.drop(now, "it does not answer; "+speakHTTP2)
	case c.greeted && c.hangs(now):
		c.drop(now, "it does not answer any more")
		p.giveUp()
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
	token, err := abi.OpenStream(c.service, wire.CallsService, wire.CallsMethod, c.metadata)
	if err != nil {
		c.fail(now, fmt.Sprintf("the host opens none: %v", err))
		return
	}
	c.live, c.token, c.since, c.last = true, token, now, 0
	if !c.write(&wire.Call{}) { // the greeting
		c.drop(now, "the host sends nothing")
	}
}

// drop gives a stream back to the host, which keeps one that only the other side has
// ended, and notes its end.
func (c *callStream) drop(now core.Instant, reason string) {
	_ = abi.CancelStream(c.token) // which the host may not know any more
	if c.greeted {
		c.lost.add(1)
	}
	c.live, c.greeted, c.owing = false, false, false
	c.fail(now, reason)
}

// greeting is the number of the greeting.
const greeting = 1

func (c *callStream) welcome() {
	c.greeted, c.pause = true, firstPause
	c.opened.add(1)
	if c.failing != "" {
		c.failing = ""
		abi.Log(abi.LevelInfo, "calls go to the state service on a stream again")
	}
}

// fail sets the time of the next stream and logs why there is none, when it has not.
func (c *callStream) fail(now core.Instant, reason string) {
	c.retry = now + c.pause
	c.pause = min(2*c.pause, longestPause)
	if c.failing != reason {
		c.failing = reason
		logf(abi.LevelWarn, "state.call_stream: no stream to the state service: %s; calls go by HTTP requests until there is one", reason)
	}
}

// speakHTTP2 is what to do about a cluster that carries no streams.
const speakHTTP2 = "state.cluster must speak HTTP/2 (http2_protocol_options)"

// advice says what a status of gRPC is a sign of and what to do about it.
func advice(status uint32) string {
	const unknown, exhausted, unimplemented, internal, unavailable, unauthenticated = 2, 8, 12, 13, 14, 16
	switch status {
	case unknown, internal:
		return "it broke off; where there never was one, " + speakHTTP2
	case exhausted:
		return "the state service has as many streams as limits.max_contexts allows"
	case unimplemented:
		return "the state service knows no streams: it is older than this filter, upgrade it"
	case unavailable:
		return "the state service is not reached or about to stop; where it answers HTTP requests, " + speakHTTP2
	case unauthenticated:
		return "the state service refuses the token of state.token_env"
	}
	return fmt.Sprintf("gRPC status %d", status)
}

// StreamClosed implements abi.Plugin. Streams that were given back may still be told of.
func (p *plugin) StreamClosed(token, status uint32) {
	c := &p.calls.stream
	if !c.live || token != c.token {
		return
	}
	c.drop(p.clock.Now(), "it was closed: "+advice(status))
	p.giveUp()
}
