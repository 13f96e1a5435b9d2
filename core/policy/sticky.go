package policy

import (
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// Fallback says how Sticky places new routing keys and requests without one.
type Fallback uint8

// The fallbacks (engine-selection.md 8.6).
const (
	FallbackRoundRobin Fallback = iota // the default
	FallbackRandom
	FallbackPowerOfTwo
	FallbackLoadBased
)

// ParseFallback reads a fallback's name in configuration.
func ParseFallback(name string) (Fallback, bool) {
	switch name {
	case "round_robin":
		return FallbackRoundRobin, true
	case "random":
		return FallbackRandom, true
	case "power_of_two":
		return FallbackPowerOfTwo, true
	case "load_based":
		return FallbackLoadBased, true
	}
	return FallbackRoundRobin, false
}

// Sticky keeps requests of a routing key on the engine the key is bound to. A
// worker that joins moves no key (engine-selection.md 8.6). Single-threaded.
type Sticky struct{ bound }

// NewSticky makes a Sticky whose fallback, where it rotates, begins at start, as
// that of NewRoundRobin. A nil view and an unknown fallback are a
// *core.ConfigError.
func NewSticky(fallback Fallback, limits admission.Limits, loads LoadView, bindings Bindings, start uint64) (*Sticky, error) {
	b, err := newBound("sticky", KeyRouting, limits, loads, bindings, boundReasons{
		bound: core.ReasonSticky, assigned: core.ReasonStickyAssigned,
		keyless: core.ReasonNoRoutingKey, unbound: core.ReasonStickyUnbound,
	})
	if err != nil {
		return nil, err
	}
	b.fallback, err = newFallback(fallback, loads, start)
	return &Sticky{b}, err
}

func newFallback(fallback Fallback, loads LoadView, start uint64) (nested, error) {
	switch fallback {
	case FallbackRoundRobin:
		return NewRoundRobin(admission.Limits{}, loads, start)
	case FallbackRandom:
		return NewRandom(admission.Limits{}, loads)
	case FallbackPowerOfTwo:
		return NewPowerOfTwo(DefaultChoices, admission.Limits{}, loads)
	case FallbackLoadBased:
		return NewLoadBased(admission.Limits{}, loads, start)
	}
	return nil, &core.ConfigError{Detail: fmt.Sprintf("sticky: fallback %d is not known", fallback)}
}
