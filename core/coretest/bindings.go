package coretest

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
)

// Bindings is a view of bindings by hand, and a store for tests that play the
// runner. The zero value can be asked and knows no binding.
type Bindings struct {
	Down  bool // nobody can be asked
	bound map[policy.Scope]core.WorkerID
	asked []policy.Scope
}

// Bind makes an engine the placement of a scope's key, in place of another one.
func (b *Bindings) Bind(s policy.Scope, id core.WorkerID) {
	if b.bound == nil {
		b.bound = map[policy.Scope]core.WorkerID{}
	}
	b.bound[s] = id
}

// Binding gives the placement of a scope's key.
func (b *Bindings) Binding(s policy.Scope) policy.Binding {
	b.asked = append(b.asked, s)
	if b.Down {
		return policy.Binding{State: policy.BindingUnavailable}
	}
	if id, ok := b.bound[s]; ok {
		return policy.Binding{State: policy.BindingBound, Worker: id}
	}
	return policy.Binding{State: policy.BindingNone}
}

// Asked lists the scopes that were asked for, in order.
func (b *Bindings) Asked() []policy.Scope { return b.asked }

// Len is the number of bindings.
func (b *Bindings) Len() int { return len(b.bound) }
