package policy

import (
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/pressure"
)

// DefaultChoices is how many engines power_of_two samples unless told otherwise
// (engine-selection.md 8.3).
const DefaultChoices = 2

// PowerOfTwo samples a few engines and takes the one under the least pressure
// for the stage (engine-selection.md 8.3). Admission is asked once, of the
// winner; its rejection is the pick's. Single-threaded.
type PowerOfTwo struct {
	observer
	choices int
	sample  sampler
}

// NewPowerOfTwo makes a PowerOfTwo that samples the given number of engines; at
// or above the number of candidates it looks at all of them. Fewer than one
// choice or a nil load view is a *core.ConfigError.
func NewPowerOfTwo(choices int, limits admission.Limits, loads LoadView) (*PowerOfTwo, error) {
	if choices < 1 {
		return nil, &core.ConfigError{Detail: fmt.Sprintf("power_of_two: %d choices; use at least 1", choices)}
	}
	o, err := newObserver("power_of_two", limits, loads)
	if err != nil {
		return nil, err
	}
	return &PowerOfTwo{observer: o, choices: choices}, nil
}

// Name is the policy's name in configuration.
func (p *PowerOfTwo) Name() string { return "power_of_two" }

// Supports reports nil for every stage an engine can play.
func (p *PowerOfTwo) Supports(stage core.Stage) error { return anyStage(p.Name(), stage) }

// Pick takes the sampled engine under the least pressure, the first sampled on
// a complete tie, if admission lets it: else a *core.AdmissionError and no
// second choice. Each sampled engine is observed once, and the winner's
// observation is the one admission sees. A request without a random source is a
// *core.InvalidSignalError.
func (p *PowerOfTwo) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	if len(engines) > 1 && req.Rand == nil {
		return core.Pick{}, noRandomSource(p.Name())
	}
	winner, load := p.choose(engines, req)
	return p.check(core.Pick{Worker: winner, Reason: core.ReasonPowerOfTwo}, load, req)
}

// choose folds the pairwise comparison over the sample from left to right. A
// single candidate needs no comparison but is observed for admission.
func (p *PowerOfTwo) choose(engines []*core.Worker, req *core.PickRequest) (*core.Worker, pressure.Side) {
	if len(engines) == 1 {
		return engines[0], p.observe(engines[0], req.Now)
	}
	p.sample.begin(len(engines), req.Rand)
	best := engines[p.sample.next()]
	lowest := p.observe(best, req.Now)
	for range min(p.choices, len(engines)) - 1 {
		w := engines[p.sample.next()]
		if side := p.observe(w, req.Now); pressure.Compare(req.Stage, side, lowest) < 0 {
			best, lowest = w, side
		}
	}
	p.sample.end()
	return best, lowest
}
