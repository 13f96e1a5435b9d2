package fakes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// HangScope says which requests a hanging engine leaves without an answer.
type HangScope int

// The scopes.
const (
	HangNothing    HangScope = iota
	HangInference            // inference stalls, /health and the rest still answer
	HangEverything           // nothing answers, though connections are accepted
)

// faults is one immutable setting of all switches.
type faults struct {
	status     int // 0 is off
	retryAfter time.Duration
	hang       HangScope
	cutAfter   int // SSE events before the reset, negative is off
	slowBy     float64
	unhealthy  bool
	changed    chan struct{} // closed when another setting takes over
}

func noFaults() *faults {
	return &faults{cutAfter: -1, slowBy: 1, changed: make(chan struct{})}
}

// slowed returns d stretched by the slow-down in force.
func (f *faults) slowed(d time.Duration) time.Duration {
	if f.slowBy == 1 {
		return d
	}
	return time.Duration(float64(d) * f.slowBy)
}

// faultSwitch holds the setting in force. Reading is one atomic load.
type faultSwitch struct {
	mu      sync.Mutex // serialises writers
	current atomic.Pointer[faults]
}

func newFaultSwitch() *faultSwitch {
	s := &faultSwitch{}
	s.current.Store(noFaults())
	return s
}

func (s *faultSwitch) load() *faults { return s.current.Load() }

func (s *faultSwitch) change(edit func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current.Load()
	next := *old
	next.changed = make(chan struct{})
	edit(&next)
	s.current.Store(&next)
	close(old.changed)
}

// pass returns the setting in force once nothing of at least the given scope hangs, and whether it had to wait.
func (s *faultSwitch) pass(ctx context.Context, scope HangScope) (f *faults, waited bool, err error) {
	for {
		f = s.load()
		if f.hang < scope {
			return f, waited, nil
		}
		waited = true
		select {
		case <-f.changed:
		case <-ctx.Done():
			return f, waited, ctx.Err()
		}
	}
}

// Status makes every inference request fail with code, in the dialect's error shape. A positive retryAfter adds a
// Retry-After header, rounded up to seconds. Code 0 turns it off.
func (e *Engine) Status(code int, retryAfter time.Duration) {
	e.faults.change(func(f *faults) { f.status, f.retryAfter = code, retryAfter })
}

// Hang makes the engine accept requests and not answer them; answers that are under way stall. When the hang is lifted,
// requests whose clients are still there go on.
func (e *Engine) Hang(scope HangScope) {
	e.faults.change(func(f *faults) { f.hang = scope })
}

// CutMidStream resets the connection of every stream in place of its event number events+1: no [DONE], no terminating
// chunk. 0 resets before the response headers, a stream with fewer events ends well, a negative number turns it off.
func (e *Engine) CutMidStream(events int) {
	e.faults.change(func(f *faults) { f.cutAfter = events })
}

// SlowBy multiplies prefill and decode times from the next token on. A factor that is not positive means 1.
func (e *Engine) SlowBy(factor float64) {
	if !(factor > 0) {
		factor = 1
	}
	e.faults.change(func(f *faults) { f.slowBy = factor })
}

// Healthy sets what /health answers: 200 or 503. Inference goes on either way.
func (e *Engine) Healthy(healthy bool) {
	e.faults.change(func(f *faults) { f.unhealthy = !healthy })
}

// Heal turns all failures off. Its error is that of Refuse(false).
func (e *Engine) Heal() error {
	e.faults.change(func(f *faults) { *f = faults{cutAfter: -1, slowBy: 1, changed: f.changed} })
	return e.Refuse(false)
}
