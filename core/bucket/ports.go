package bucket

import "github.com/pointsman/pointsman/core"

// Policy picks one engine of a candidate list.
type Policy interface {
	// Name is the policy's name in configuration and messages.
	Name() string
	// Supports reports why the policy cannot serve a stage, nil when it can.
	Supports(stage core.Stage) error
	// Pick returns one of the engines, the same object, admission included. The
	// list is never empty, in ID order, read-only and valid during the call, as
	// is the request. Selection errors carry the request's bucket and stage.
	Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error)
}

// Registry is the fleet as engine groups see it.
type Registry interface {
	// Version changes whenever what Serving answers may have changed. A group
	// follows one registry for life, so versions must never repeat.
	Version() uint64
	// Serving lists the engines of every stage that serve a model, adapters
	// included, in byte order of their IDs. The list is read-only.
	Serving(model string) []*core.Worker
	// Available reports whether an engine may take a new request at now: it is
	// healthy, not draining, and its breaker would let the request through. It
	// changes nothing.
	Available(w *core.Worker, now core.Instant) bool
	// Settled reports whether what Available answers follows from the version
	// alone: at every instant at which this is so, the answers for one version
	// are the same. False is always safe.
	Settled() bool
	// Drains reports whether an engine would be available, were it not draining.
	Drains(w *core.Worker, now core.Instant) bool
}
