package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// RoundRobin rotates over the candidates with a cursor of its own
// (engine-selection.md 8.1). It skips candidates that admission rejects. The
// candidates it sees keep their order, so the rotation is even while they stay
// the same. Single-threaded.
type RoundRobin struct {
	observer
	cursor uint64
}

// NewRoundRobin makes a rotation that begins at an offset: policies of separate
// processes that begin at random offsets do not all start at the same engine.
// It refuses a nil load view with a *core.ConfigError.
func NewRoundRobin(limits admission.Limits, loads LoadView, start uint64) (*RoundRobin, error) {
	o, err := newObserver("round_robin", limits, loads)
	if err != nil {
		return nil, err
	}
	return &RoundRobin{observer: o, cursor: start}, nil
}

// Name is the policy's name in configuration.
func (p *RoundRobin) Name() string { return "round_robin" }

// Supports reports nil for every stage an engine can play.
func (p *RoundRobin) Supports(stage core.Stage) error { return anyStage(p.Name(), stage) }

// Pick takes the next admitted engine in order and moves the cursor past it. A
// *core.NoAdmissibleError lists every rejection when none is admitted; the
// cursor then moves by one, as for any other attempt.
func (p *RoundRobin) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	p.rejections = p.rejections[:0]
	n := uint64(len(engines))
	for i := range n {
		w := engines[(p.cursor%n+i)%n]
		if p.try(w, req.Now) {
			p.advance(req, i+1)
			return core.Pick{Worker: w, Reason: core.ReasonRoundRobin}, nil
		}
	}
	p.advance(req, 1)
	return core.Pick{}, p.exhausted(req)
}

// advance moves the cursor. A spare choice leaves it: the rotation counts
// requests, not retries that may never come.
func (p *RoundRobin) advance(req *core.PickRequest, by uint64) {
	if req.Rotates() {
		p.cursor += by
	}
}
