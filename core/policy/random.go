package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// Random chooses uniformly among the candidates (engine-selection.md 8.2), and
// again among the rest when admission rejects its choice. Single-threaded.
type Random struct {
	observer
	order sampler
}

// NewRandom makes a Random. It refuses a nil load view with a *core.ConfigError.
func NewRandom(limits admission.Limits, loads LoadView) (*Random, error) {
	o, err := newObserver("random", limits, loads)
	if err != nil {
		return nil, err
	}
	return &Random{observer: o}, nil
}

// Name is the policy's name in configuration.
func (p *Random) Name() string { return "random" }

// Supports reports nil for every stage an engine can play.
func (p *Random) Supports(stage core.Stage) error { return anyStage(p.Name(), stage) }

// Pick tries the candidates in random order and takes the first admitted one. A
// *core.NoAdmissibleError lists every rejection when none is admitted; a
// request without a random source is a *core.InvalidSignalError.
func (p *Random) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	if req.Rand == nil {
		return core.Pick{}, noRandomSource(p.Name())
	}
	p.rejections = p.rejections[:0]
	p.order.begin(len(engines), req.Rand)
	defer p.order.end()
	for range engines {
		w := engines[p.order.next()]
		if p.try(w, req.Now) {
			return core.Pick{Worker: w, Reason: core.ReasonRandom}, nil
		}
	}
	return core.Pick{}, p.exhausted(req)
}
