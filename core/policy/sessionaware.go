package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// SessionAware keeps a session on the engine it is bound to. New sessions and
// requests without one go by power_of_two (engine-selection.md 8.5).
// Single-threaded.
type SessionAware struct{ bound }

// NewSessionAware makes a SessionAware. A nil view is a *core.ConfigError.
func NewSessionAware(limits admission.Limits, loads LoadView, bindings Bindings) (*SessionAware, error) {
	b, err := newBound("session_aware", KeySession, limits, loads, bindings, boundReasons{
		bound: core.ReasonSessionPrimary, assigned: core.ReasonAssigned,
		keyless: core.ReasonNoSession, unbound: core.ReasonSessionUnbound,
	})
	if err != nil {
		return nil, err
	}
	b.fallback, err = NewPowerOfTwo(DefaultChoices, admission.Limits{}, loads)
	return &SessionAware{b}, err
}
