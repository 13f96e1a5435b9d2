package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// bound keeps requests of one key on the engine that the key is bound to. It is
// what session_aware and sticky have in common (engine-selection.md 8.5, 8.6).
//
// It reads placements and asks for new ones, but makes none: when another
// request placed the key first, whoever runs the pick shows the winner in the
// view and picks again.
type bound struct {
	observer
	name     string
	kind     KeySource
	bindings Bindings
	fallback nested          // for new keys and requests without one; admits all
	unbound  *ConsistentHash // while nobody can be asked; admits all
	reasons  boundReasons
}

// nested is a policy inside another one, which asks its own admission about the
// choice (POLICY_DESIGN section 5).
type nested interface {
	Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error)
}

// boundReasons are the reasons of a policy for each way to its engine.
type boundReasons struct{ bound, assigned, keyless, unbound core.Reason }

func newBound(name string, kind KeySource, limits admission.Limits, loads LoadView, bindings Bindings, reasons boundReasons) (bound, error) {
	o, err := newObserver(name, limits, loads)
	if err != nil {
		return bound{}, err
	}
	if bindings == nil {
		return bound{}, &core.ConfigError{Detail: name + " needs a view of bindings"}
	}
	unbound, err := NewConsistentHash(Hashing{
		Key: kind, LoadFactor: DefaultLoadFactor, LoadFloor: DefaultLoadFloor, PrefixBytes: DefaultPrefixBytes,
	}, admission.Limits{}, loads)
	return bound{observer: o, name: name, kind: kind, bindings: bindings, unbound: unbound, reasons: reasons}, err
}

// Name is the policy's name in configuration.
func (p *bound) Name() string { return p.name }

// Supports reports nil for every stage an engine can play.
func (p *bound) Supports(stage core.Stage) error { return anyStage(p.name, stage) }

// Pick gives the candidate that the request's key is bound to, whatever its
// load, or the fallback's choice, which is then to be bound. While bindings
// cannot be asked the key's hash decides, so that proxies agree, and nothing is
// bound. Admission is asked once, of the one engine chosen; its rejection is a
// *core.AdmissionError and leaves a binding as it is.
func (p *bound) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	key := p.unbound.key(req)
	if key == "" {
		return p.take(p.fallback, engines, req, p.reasons.keyless, false)
	}
	found := p.bindings.Binding(Scope{Kind: p.kind, Model: req.Model, Bucket: req.Bucket, Stage: req.Stage, Key: key})
	switch found.State {
	case BindingUnavailable:
		return p.take(p.unbound, engines, req, p.reasons.unbound, false)
	case BindingBound:
		// By ID: the binding outlives the object of an engine that was replaced.
		if at, live := core.FindWorker(engines, found.Worker); live {
			return p.confirm(core.Pick{Worker: engines[at], Reason: p.reasons.bound}, req)
		}
	case BindingNone:
	}
	// A spare engine may never be used, so it is no placement.
	return p.take(p.fallback, engines, req, p.reasons.assigned, !req.Spare)
}

// take takes the choice of another policy, if the owner's admission lets it.
func (p *bound) take(from nested, engines []*core.Worker, req *core.PickRequest, why core.Reason, bind bool) (core.Pick, error) {
	pick, err := from.Pick(engines, req)
	if err != nil {
		return core.Pick{}, err
	}
	return p.confirm(core.Pick{Worker: pick.Worker, Reason: why, Bind: bind}, req)
}
