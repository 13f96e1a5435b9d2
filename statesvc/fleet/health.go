package fleet

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/engineapi"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
)

// firstBackoff is the wait after the first bad probe; it doubles from there to
// health.max_backoff_ms.
const firstBackoff = 100 * time.Millisecond

// recoveryWait bounds how long an engine that answers its probe again waits for
// its metrics and description before it takes requests.
const recoveryWait = 500 * time.Millisecond

// watchHealth probes until ctx ends. first is called after the first verdict.
func (m *member) watchHealth(ctx context.Context, first func()) {
	backoff := firstBackoff
	for {
		began := time.Now()
		m.mu.Lock()
		m.probedAt = began
		m.mu.Unlock()
		err := m.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		wait := max(m.health.IntervalMillis.Duration()-time.Since(began), 0)
		if m.judge(ctx, err) {
			backoff = firstBackoff
		} else {
			wait = min(backoff, m.health.MaxBackoffMillis.Duration())
			backoff *= 2
		}
		if first != nil {
			first()
			first = nil
		}
		if !pause(ctx, max(wait, 10*time.Millisecond), m.suspected) {
			return
		}
	}
}

// probe looks the name up when that is due and asks the engine for its health.
func (m *member) probe(ctx context.Context) error {
	if err := m.refreshAddress(ctx); err != nil {
		return err
	}
	return within(ctx, m.health.TimeoutMillis.Duration(), m.client.Probe)
}

// judge turns the probe's outcome into a verdict and reports whether the engine
// is up.
func (m *member) judge(ctx context.Context, err error) bool {
	switch {
	case err == nil:
		m.counts.probesGood.Add(1)
		m.good(ctx)
		return true
	case engineapi.TimedOut(err) && m.up() && m.sink.AnsweredWithin(m.id, m.health.HangAfterMillis.Instants()):
		// SGLang's /health runs a generation, which a busy engine delays. It is
		// no hang while requests are being answered (design section 5).
		m.counts.probesBusy.Add(1)
		m.mu.Lock()
		m.probeError = "busy: " + err.Error()
		m.mu.Unlock()
		return true
	default:
		m.counts.probesBad.Add(1)
		m.bad(err)
		return false
	}
}

func (m *member) bad(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired {
		return
	}
	if engineapi.Refused(err) {
		m.life.refused()
	}
	if m.verdict != HealthDown {
		m.log.Warn("engine is down", "error", err)
	}
	m.verdict, m.probeError = HealthDown, err.Error()
	m.resolvedAt = time.Time{} // the name may point elsewhere by now
	m.publish()
}

// good keeps an engine up, or brings it up: its generation and description are
// settled before it takes the first request.
func (m *member) good(ctx context.Context) {
	m.mu.Lock()
	steady := m.verdict == HealthUp && !m.moved
	m.probeError = ""
	wait := recoveryWait
	if said := &m.said.Config; !(m.modelsKnown && m.roleKnown) && (len(said.Models) == 0 || said.Role == "") {
		wait = m.introspect.TimeoutMillis.Duration()
	}
	m.mu.Unlock()
	if !steady {
		m.bringUp(ctx, wait)
	}
}

func (m *member) bringUp(ctx context.Context, describeWait time.Duration) {
	described := make(chan struct{})
	go func() {
		defer close(described)
		_ = within(ctx, describeWait, m.describe) // told by the status
	}()
	sample, at, _ := m.read(ctx, recoveryWait) // likewise
	<-described
	if ctx.Err() != nil {
		return
	}
	m.enter(sample, at)
}

// enter makes the engine take requests, in a new life if there is evidence.
func (m *member) enter(sample *enginemetrics.Sample, at core.Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired {
		return
	}
	if m.moved {
		m.life.refused()
		m.moved = false
	}
	if m.life.begin(sample) {
		m.counts.restarts.Add(1)
	}
	if m.verdict == HealthDown {
		m.recoveries++
		m.counts.recoveries.Add(1)
	}
	m.verdict = HealthUp
	m.log.Info("engine is up", "generation", m.life.generation, "address", m.address.String())
	m.publish()
	m.report(sample, at)
}
