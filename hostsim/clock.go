package hostsim

import (
	"slices"
	"sync"
	"time"
)

// Clock is the time that a host lives in: guest clocks, ticks, callout time limits and reload delays all follow it.
// Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the current instant.
	Now() time.Time
	// AfterFunc calls f once after d, on a goroutine of the clock's choice. stop cancels a call that has not begun.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (SystemClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// ManualClock moves only when told to. Use NewManualClock.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	at time.Time
	f  func()
}

// NewManualClock makes a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now implements Clock.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements Clock. f runs on the goroutine that calls Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return func() { c.remove(t) }
}

func (c *ManualClock) remove(t *manualTimer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = slices.DeleteFunc(c.timers, func(o *manualTimer) bool { return o == t })
}

// Advance moves the clock by d and runs every timer that falls due, in time order, at its own instant. After each one
// it calls the given functions: pass VM.RunPending there, so that a tick re-arms itself within one Advance.
func (c *ManualClock) Advance(d time.Duration, after ...func()) {
	end := c.Now().Add(d)
	for {
		t := c.nextDue(end)
		if t == nil {
			break
		}
		t.f()
		for _, f := range after {
			f()
		}
	}
	c.mu.Lock()
	c.now = end
	c.mu.Unlock()
}

// nextDue takes out the earliest timer up to end (the first set among equals) and moves the clock to it.
func (c *ManualClock) nextDue(end time.Time) *manualTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, t := range c.timers {
		if !t.at.After(end) && (best < 0 || t.at.Before(c.timers[best].at)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	t := c.timers[best]
	c.timers = slices.Delete(c.timers, best, best+1)
	if t.at.After(c.now) {
		c.now = t.at
	}
	return t
}
