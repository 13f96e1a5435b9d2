// Package breaker stops sending requests to an engine that keeps failing.
//
// A Breaker belongs to one worker and is driven by given instants
// (engine-selection.md 14.3). Closed, it counts consecutive failures and opens
// at the threshold. Open, it refuses until the cool-down is over. Half-open, it
// lets one probe through, whose outcome closes or reopens it.
//
// Every dispatch claims a Ticket and reports its outcome with it. A ticket
// counts in the period it was claimed in and is ignored in any later one: a
// burst of failures opens the breaker once, and the late answer of a former
// probe decides nothing.
//
// Breakers are not safe for concurrent use.
package breaker

import "github.com/pointsman/pointsman/core"

// Defaults of engine-selection.md 14.3.
const (
	DefaultThreshold = 3
	DefaultCoolDown  = 30_000 // milliseconds
)

// Config tunes a Breaker. A field that is not positive means its default.
type Config struct {
	Threshold uint32 // consecutive failures that open the breaker
	CoolDown  int64  // milliseconds an open breaker refuses before it half-opens
}

// Effective gives the settings with defaults filled in.
func (c Config) Effective() Config {
	return Config{Threshold: c.threshold(), CoolDown: int64(c.coolDown())}
}

func (c Config) threshold() uint32 {
	if c.Threshold == 0 {
		return DefaultThreshold
	}
	return c.Threshold
}

func (c Config) coolDown() core.Instant {
	if c.CoolDown <= 0 {
		return DefaultCoolDown
	}
	return core.Instant(c.CoolDown)
}

// State is what a breaker does with the next dispatch.
type State uint8

// The states.
const (
	Closed State = iota
	Open
	HalfOpen
)

// String gives the state's name in metrics and receipts.
func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case HalfOpen:
		return "half_open"
	case Closed:
		return "closed"
	}
	return "closed"
}

// Ticket is the right to dispatch one request. The zero Ticket belongs to no
// dispatch; reporting it changes nothing.
type Ticket struct {
	generation uint64 // 1 + that of the period it was claimed in, so that 0 is none
}

// Breaker guards one worker. The zero value is closed and has the default
// configuration.
type Breaker struct {
	config Config
	streak uint32
	open   bool // the door is not closed: open, or half-open by time or by hand

	openedAt core.Instant
	early    bool // half-open before the cool-down is over

	probing    bool // a probe is outstanding
	probedAt   core.Instant
	generation uint64 // of the period; a probe begins one and its outcome the next
}

// New makes a closed breaker.
func New(config Config) Breaker { return Breaker{config: config} }

// State gives the state at an instant.
func (b *Breaker) State(now core.Instant) State {
	switch {
	case !b.open:
		return Closed
	case b.early || now-b.openedAt >= b.config.coolDown():
		return HalfOpen
	}
	return Open
}

// Streak is the number of consecutive failures.
func (b *Breaker) Streak() uint32 { return b.streak }

// OpenFor is the time in milliseconds since the breaker last opened, false when
// it is closed.
func (b *Breaker) OpenFor(now core.Instant) (int64, bool) {
	if !b.open {
		return 0, false
	}
	return int64(now - b.openedAt), true
}

// Allows reports whether Claim would succeed. It changes nothing, so candidate
// filtering uses it.
func (b *Breaker) Allows(now core.Instant) bool {
	switch b.State(now) {
	case Closed:
		return true
	case HalfOpen:
		return !b.probing || b.lapsed(now)
	case Open:
		return false
	}
	return false
}

// lapsed reports whether the outstanding probe has been silent for a whole
// cool-down. Its place is then free: a probe whose outcome never comes, because
// its request hangs or its proxy lost it, must not keep the worker out for ever.
func (b *Breaker) lapsed(now core.Instant) bool {
	return now-b.probedAt >= b.config.coolDown()
}

// Claim takes the right to dispatch. Half-open, the caller holds the only probe
// until it reports or lapses. False means that the breaker refuses.
func (b *Breaker) Claim(now core.Instant) (Ticket, bool) {
	if !b.Allows(now) {
		return Ticket{}, false
	}
	if b.open {
		b.generation++
		b.probing, b.probedAt = true, now
	}
	return Ticket{generation: b.generation + 1}, true
}

// Report gives the outcome of a dispatch, once per ticket.
func (b *Breaker) Report(ticket Ticket, outcome Outcome, now core.Instant) {
	if ticket.generation != b.generation+1 {
		return
	}
	if b.open {
		if b.probing {
			b.settleProbe(outcome, now)
		}
		return
	}
	switch outcome {
	case Success:
		b.streak = 0
	case Failure:
		b.fail(now)
	case Neutral, Cancelled:
	}
}

func (b *Breaker) settleProbe(outcome Outcome, now core.Instant) {
	b.probing = false
	b.generation++
	switch outcome {
	case Success:
		b.close()
		b.streak = 0
	case Neutral:
		b.close()
	case Failure:
		b.fail(now)
	case Cancelled:
	}
}

func (b *Breaker) fail(now core.Instant) {
	if b.streak < ^uint32(0) {
		b.streak++
	}
	if b.streak < b.config.threshold() {
		return
	}
	b.open, b.openedAt, b.early = true, now, false
}

func (b *Breaker) close() { b.open, b.early = false, false }

// HalfOpen lets an open breaker probe at once, whatever remains of the
// cool-down: a health probe recovered, or the engine began a new life. An
// outstanding probe is forgotten, since it went to the engine as it was. A
// closed breaker stays closed.
func (b *Breaker) HalfOpen() {
	if !b.open {
		return
	}
	b.early, b.probing = true, false
}
