package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/statesvc/engineapi"
)

// watchDescription asks the engine again at every interval while it is up, for
// adapters come and go, and at once when its life or its answer is in doubt.
func (m *member) watchDescription(ctx context.Context) {
	ticker := time.NewTicker(m.introspect.IntervalMillis.Duration())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.redescribe:
		case <-ticker.C:
		}
		if m.up() {
			_ = m.describe(ctx) // told by the status
		}
	}
}

func (m *member) askForDescription() {
	select {
	case m.redescribe <- struct{}{}:
	default:
	}
}

// describe asks the engine for its models and role. What it does not say stays
// as it said it before.
func (m *member) describe(ctx context.Context) error {
	d := m.client.Describe(ctx, m.introspect.TimeoutMillis.Duration(), m.introspect.Attempts)
	if ctx.Err() != nil && (d.ModelsErr != nil || d.InfoErr != nil) {
		m.askForDescription() // it had too little time; ask again in the background
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merge(&d)
	m.modelsKnown = m.modelsKnown || d.ModelsErr == nil
	m.roleKnown = m.roleKnown || answered(d.InfoErr)
	m.description = d
	err := m.incomplete()
	m.describeError = ""
	if err != nil {
		m.counts.describesBad.Add(1)
		m.describeError = err.Error()
	} else {
		m.counts.describesGood.Add(1)
	}
	m.publish()
	return err
}

// merge keeps what was known before where d does not know. That an engine has
// no page of its role is knowledge too. The caller holds mu.
func (m *member) merge(d *engineapi.Description) {
	before := &m.description
	if d.ModelsErr != nil && m.modelsKnown {
		d.Models, d.Adapters, d.ModelsErr = before.Models, before.Adapters, nil
	}
	if d.InfoErr != nil && m.roleKnown && !engineapi.Final(d.InfoErr) {
		d.Stage, d.Ranks, d.BootstrapPort, d.InfoErr = before.Stage, before.Ranks, before.BootstrapPort, before.InfoErr
		d.Aborts, d.InputIDs = before.Aborts, before.InputIDs
		d.BlockSize, d.Bigram = before.BlockSize, before.Bigram
	}
}

// answered reports whether the engine answered, be it with an error status.
func answered(err error) bool {
	var status *engineapi.StatusError
	return err == nil || errors.As(err, &status)
}

// incomplete says what an operator must add when the engine did not say enough.
// The caller holds mu.
func (m *member) incomplete() error {
	switch d := &m.description; {
	case len(m.said.Config.Models) == 0 && d.ModelsErr != nil:
		return fmt.Errorf("models unknown, write models for this worker: %w", d.ModelsErr)
	case len(m.said.Config.Models) == 0 && len(d.Models) == 0:
		return errors.New("the engine names no model; write models for this worker")
	case m.roleUnknown():
		return fmt.Errorf("role unknown, write role for this worker: %w", d.InfoErr)
	}
	return nil
}

// roleUnknown reports whether nobody said the engine's role: it is not
// configured, and the engine did not answer at all. An engine without that page
// is a plain one; one that may be half of a pair is not guessed at.
func (m *member) roleUnknown() bool {
	return m.said.Config.Role == "" && !m.roleKnown
}
