package breaker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
)

// door is the naive model: it keeps each dispatch's whole story and names its
// periods, where the breaker keeps one number.
type door struct {
	period  int // the present closed period or the present place of a probe
	state   string
	streak  int
	opened  core.Instant
	probe   *call // outstanding
	unasked bool  // half-open by hand
}

type call struct {
	ticket breaker.Ticket
	period int
	at     core.Instant
}

const threshold, coolDown = 2, 10

func (d *door) allows(now core.Instant) bool {
	if d.state == "closed" {
		return true
	}
	if !d.unasked && now < d.opened+coolDown {
		return false
	}
	return d.probe == nil || now >= d.probe.at+coolDown
}

func (d *door) shut(now core.Instant) {
	d.period, d.state, d.opened, d.unasked, d.probe = d.period+1, "open", now, false, nil
}

func (d *door) report(c *call, o breaker.Outcome, now core.Instant) {
	if c.period != d.period {
		return
	}
	if d.state == "closed" {
		switch o {
		case breaker.Success:
			d.streak = 0
		case breaker.Failure:
			if d.streak++; d.streak >= threshold {
				d.shut(now)
			}
		}
		return
	}
	d.period, d.probe = d.period+1, nil
	switch o {
	case breaker.Success:
		d.state, d.streak = "closed", 0
	case breaker.Neutral:
		d.state = "closed"
	case breaker.Failure:
		d.streak++
		d.shut(now)
	}
}

func TestBreaker_agrees_with_the_model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := breaker.New(breaker.Config{Threshold: threshold, CoolDown: coolDown})
		model := &door{state: "closed"}
		now := core.Instant(rapid.Int64Range(-100, 100).Draw(t, "start"))
		var open []*call
		t.Repeat(map[string]func(*rapid.T){
			"advance": func(t *rapid.T) { now += core.Instant(rapid.Int64Range(0, 12).Draw(t, "ms")) },
			"claim": func(t *rapid.T) {
				ticket, ok := b.Claim(now)
				require.Equal(t, model.allows(now), ok)
				if !ok {
					return
				}
				c := &call{ticket: ticket, at: now}
				if model.state != "closed" {
					model.period++
					model.probe = c
				}
				c.period = model.period
				open = append(open, c)
			},
			"report": func(t *rapid.T) {
				if len(open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "call")
				o := rapid.SampledFrom([]breaker.Outcome{breaker.Success, breaker.Failure, breaker.Failure, breaker.Neutral, breaker.Cancelled}).Draw(t, "outcome")
				b.Report(open[i].ticket, o, now)
				model.report(open[i], o, now)
				open = append(open[:i], open[i+1:]...)
			},
			"half-open by hand": func(t *rapid.T) {
				b.HalfOpen()
				if model.state != "closed" {
					model.period, model.unasked, model.probe = model.period+1, true, nil
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, model.allows(now), b.Allows(now))
				require.Equal(t, model.streak, int(b.Streak()))
				require.Equal(t, model.state == "closed", b.State(now) == breaker.Closed)
				age, open := b.OpenFor(now)
				require.Equal(t, model.state != "closed", open)
				if open {
					require.Equal(t, int64(now-model.opened), age)
				}
			},
		})
	})
}

// Whatever happened before, a worker whose requests are answered well again is
// back within two cool-downs: no sequence of events locks it out.
func TestBreaker_never_locks_a_worker_out(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := breaker.New(breaker.Config{Threshold: threshold, CoolDown: coolDown})
		now := core.Instant(0)
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			now += core.Instant(rapid.Int64Range(0, 12).Draw(t, "ms"))
			if ticket, ok := b.Claim(now); ok && rapid.Bool().Draw(t, "answered") {
				b.Report(ticket, breaker.Failure, now)
			}
		}
		now += 2 * coolDown
		require.True(t, dispatch(&b, breaker.Success, now))
		require.Equal(t, breaker.Closed, b.State(now))
	})
}
