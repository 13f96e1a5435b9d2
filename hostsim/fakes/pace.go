package fakes

import (
	"context"
	"time"
)

// pace spends the time of one request. Each step is due a fixed time after the step before, so that slow timers and
// slow clients do not add up.
type pace struct {
	clock  Clock
	faults *faultSwitch
	due    time.Time
}

// spend returns when the next d have passed, stretched by the slow-down in force. While the engine hangs it does not
// return. It fails only with the context's error.
func (p *pace) spend(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, waited, err := p.faults.pass(ctx, HangInference)
	if err != nil {
		return err
	}
	d = f.slowed(d)
	if d <= 0 {
		return nil
	}
	if waited || p.due.IsZero() {
		p.due = p.clock.Now()
	}
	p.due = p.due.Add(d)
	wait := p.due.Sub(p.clock.Now())
	if wait <= 0 {
		return nil
	}
	return p.clock.Sleep(ctx, wait)
}
