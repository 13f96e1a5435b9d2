package flow

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
)

// DefaultCallTimeout is how long a request waits for a reply to Observe or Bind,
// in milliseconds (design section 3).
const DefaultCallTimeout = spec.DefaultCallTimeout

// DefaultObserveMaxBody is the longest body that is sent with Observe, in bytes
// (design section 3).
const DefaultObserveMaxBody = 4 << 20

// Wants is what the policies of one model read of the state service. It is
// immutable.
type Wants struct {
	// Scopes are where keys may be bound, in the order in which maxScopes cuts them
	// off. A request fills in its key of the kind.
	Scopes []policy.Scope
	// Prefixes are the names of the cache sources that only the service has.
	Prefixes []string
	// Lengths says when the service is to count the prompt.
	Lengths spec.Lengths
	// PromptBytes is how much of a prompt's text the policies look at.
	PromptBytes int
	// InputIDs is the longest chat that is forwarded with its token ids, 0 for none.
	InputIDs uint32
	// AlwaysRanked says that engines of several ranks are always told which one.
	AlwaysRanked bool
}

// State connects a context with what the state service knows. The zero value
// asks it for nothing.
type State struct {
	// Views is what the policies of the context's router read. It serves one
	// context only.
	Views *Views
	// Wants gives what a canonical model's policies read; nil is nothing for every
	// model.
	Wants func(model string) Wants
	// Key names the context to the service, as in its syncs.
	Key uint64
	// How many seconds bindings live without use; 0 is the service's default.
	SessionIdle, RoutingIdle uint32
	// How long requests wait for each call, in milliseconds; 0 is
	// DefaultCallTimeout.
	ObserveWithin, BindWithin core.Instant
	// ObserveMaxBody is the longest body sent along; 0 is DefaultObserveMaxBody.
	ObserveMaxBody uint64
	// PendingPrefix is how long what engines were sent counts beside what the index of
	// their events says, in milliseconds; 0 is not at all.
	PendingPrefix core.Instant
}

// StateOf connects a context of a configuration with a state service, its defaults
// filled in. The views are those the router was built with, the key that of the
// context's syncs.
func StateOf(cfg *spec.Config, router *spec.Router, views *Views, key uint64) State {
	s := State{
		Views: views, Key: key,
		Wants: func(model string) Wants {
			needs := router.ModelNeeds(model)
			return Wants{
				Scopes: needs.Scopes, Prefixes: needs.Prefixes, Lengths: needs.Lengths,
				PromptBytes: needs.PromptBytes, InputIDs: needs.InputIDs, AlwaysRanked: needs.AlwaysRanked,
			}
		},
		SessionIdle:   uint32(cfg.BindingIdle(policy.KeySession)),
		RoutingIdle:   uint32(cfg.BindingIdle(policy.KeyRouting)),
		ObserveWithin: core.Instant(*cfg.State.ObserveTimeoutMillis),
		BindWithin:    core.Instant(*cfg.State.BindTimeoutMillis),
	}
	if slices.Contains(router.Needs().Prefixes, policy.DefaultPrefixSource) {
		s.PendingPrefix = core.Instant(*cfg.State.PendingPrefixMillis)
	}
	return s
}

// idle is how many seconds a binding of a kind of key lives without use.
func (s *State) idle(kind policy.KeySource) uint32 {
	if kind == policy.KeyRouting {
		return s.RoutingIdle
	}
	return s.SessionIdle
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
	c.pending = newPending(s.PendingPrefix)
	c.state = s
}

// pathOf gives the path that a dialect is spoken on.
func (c *Context) pathOf(d chat.Dialect) string {
	for _, p := range c.paths {
		if p.dialect == d {
			return p.path
		}
	}
	return ""
}

// wants gives what a model's policies read.
func (c *Context) wants(model string) Wants {
	if c.state.Wants == nil {
		return Wants{}
	}
	return c.state.Wants(model)
}
