package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
)

// DefaultCallTimeout is how long a request waits for a reply to Observe or Bind,
// in milliseconds (design section 3).
const DefaultCallTimeout = 150

// DefaultObserveMaxBody is the longest body that is sent with Observe, in bytes
// (design section 3).
const DefaultObserveMaxBody = 4 << 20

// Wants is what the policies of one model read of the state service. It is
// immutable.
type Wants struct {
	Keys    []KeyWant
	Sources []string // names of the cache sources that only the service has
}

// KeyWant says that the policy of one engine group follows bindings.
type KeyWant struct {
	Bucket string
	Stage  core.Stage
	Kind   policy.KeySource // KeySession or KeyRouting
	// IdleSeconds is how long a binding lives without use, 0 for the service's
	// default.
	IdleSeconds uint32
}

// State connects a context with what the state service knows. The zero value
// asks it for nothing.
type State struct {
	// Views is what the policies of the context's router read. It serves one
	// context only.
	Views *Views
	// Wants gives what a canonical model's policies read, nil for nothing.
	Wants func(model string) *Wants
	// Key names the context to the service, as in its syncs.
	Key uint64
	// How long requests wait for each call, in milliseconds; 0 is
	// DefaultCallTimeout.
	ObserveWithin, BindWithin core.Instant
	// ObserveMaxBody is the longest body sent along; 0 is DefaultObserveMaxBody.
	ObserveMaxBody uint64
}

// WantsOf gives what each model of a router asks of the state service, in the form
// that State takes.
func WantsOf(cfg *spec.Config, router *spec.Router) func(model string) *Wants {
	wants := map[string]*Wants{}
	for _, model := range router.Names() {
		needs := router.ModelNeeds(model)
		if len(needs.Scopes) == 0 && len(needs.Prefixes) == 0 {
			continue
		}
		w := &Wants{Sources: needs.Prefixes}
		for _, s := range needs.Scopes {
			w.Keys = append(w.Keys, KeyWant{Bucket: s.Bucket, Stage: s.Stage, Kind: s.Kind, IdleSeconds: uint32(cfg.BindingIdle(s.Kind))})
		}
		wants[model] = w
	}
	return func(model string) *Wants { return wants[model] }
}

// UseState connects the context, before its first request.
func (c *Context) UseState(s State) {
	if s.ObserveWithin == 0 {
		s.ObserveWithin = DefaultCallTimeout
	}
	if s.BindWithin == 0 {
		s.BindWithin = DefaultCallTimeout
	}
	if s.ObserveMaxBody == 0 {
		s.ObserveMaxBody = DefaultObserveMaxBody
	}
	if s.Views == nil {
		s.Views = &Views{}
	}
	c.state = s
}

// pathOf gives the path that a dialect is spoken on.
func (c *Context) pathOf(d chat.Dialect) string {
	for path, dialect := range c.paths {
		if dialect == d {
			return path
		}
	}
	return ""
}

// wants gives what a model's policies read, nil for nothing.
func (c *Context) wants(model string) *Wants {
	if c.state.Wants == nil {
		return nil
	}
	return c.state.Wants(model)
}
