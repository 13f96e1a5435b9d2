package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
)

var (
	errMetricsOff    = errors.New("metrics.disabled is set for this worker")
	errNoLoadMetrics = errors.New("the page holds no load metric of vLLM or SGLang")
)

// watchLoad reads the engine's load at every interval while it is up.
func (m *member) watchLoad(ctx context.Context) {
	if m.cfg.Metrics.Disabled || !pause(ctx, m.phase(), nil) {
		return
	}
	ticker := time.NewTicker(m.load.IntervalMillis.Duration())
	defer ticker.Stop()
	for {
		if m.up() {
			if sample, at, err := m.read(ctx, m.load.TimeoutMillis.Duration()); err == nil {
				m.observe(sample, at)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// phase spreads the readings of a large fleet over the interval.
func (m *member) phase() time.Duration {
	return m.load.IntervalMillis.Duration() * time.Duration(xxhash.Sum64String(m.cfg.ID)%1024) / 1024
}

// read fetches and parses one page. One reading is under way at a time, so that
// an older page is never taken for a newer one.
func (m *member) read(ctx context.Context, wait time.Duration) (*enginemetrics.Sample, core.Instant, error) {
	if m.cfg.Metrics.Disabled {
		return nil, 0, errMetricsOff
	}
	var sample *enginemetrics.Sample
	var at core.Instant
	err := within(ctx, wait, func(ctx context.Context) (err error) {
		select {
		case m.reading <- struct{}{}:
			defer func() { <-m.reading }()
		case <-ctx.Done():
			return ctx.Err()
		}
		sample, at, err = m.fetch(ctx)
		return err
	})
	m.noteReading(err)
	return sample, at, err
}

func (m *member) fetch(ctx context.Context) (*enginemetrics.Sample, core.Instant, error) {
	page, err := m.client.Metrics(ctx)
	if err != nil {
		return nil, 0, err
	}
	at := m.clock()
	m.mu.Lock()
	ranks := m.description.Ranks
	m.mu.Unlock()
	sample, err := enginemetrics.Parse(page, ranks)
	return sample, at, err
}

func (m *member) noteReading(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loadError = ""
	if err != nil {
		m.counts.readingsBad.Add(1)
		m.loadError = err.Error()
		return
	}
	m.counts.readingsGood.Add(1)
}

// observe takes over a reading of an engine that is up. A reading of another
// life is the first sign of a restart between two probes.
func (m *member) observe(sample *enginemetrics.Sample, at core.Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.verdict != HealthUp || m.retired {
		return
	}
	if m.life.observe(sample) {
		m.counts.restarts.Add(1)
		m.log.Info("engine restarted", "generation", m.life.generation)
		m.publish()
		m.askForDescription()
	}
	m.report(sample, at)
}

// report hands the sample's load to the sink. The caller holds mu.
func (m *member) report(sample *enginemetrics.Sample, at core.Instant) {
	if sample == nil {
		return
	}
	m.dialect = sample.Dialect
	if sample.Ranks != m.ranks && sample.Ranks > 0 {
		m.ranks = sample.Ranks
		m.publish()
	}
	if sample.Dialect == enginemetrics.DialectNone {
		m.loadError = errNoLoadMetrics.Error()
		return
	}
	if m.address.IsValid() && !m.retired {
		m.sink.Report(m.id, m.life.generation, sample.Report, at)
	}
}
