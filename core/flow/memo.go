package flow

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// memo is what a request knows of state outside its context, and the selection
// that waits for more of it. Requests that need no such state have none. Every
// pick of the request reads the same memo (POLICY_DESIGN section 5).
type memo struct {
	target  spec.Target
	entries []entry
	lookups []lookup
	unasked string     // why a source has no answer
	output  core.Count // that the request asks for

	call   uint64 // the call that is waited for
	rounds int    // binds tried
	cut    bool   // a bind was not answered: no more are tried

	buckets    []*bucket.Bucket // own lists, which outlive other requests' picks
	candidates []*core.Worker
	chosen     *bucket.Bucket
	picked     bucket.Selection
	read       [core.StageDecode + 1]int32 // entry that each stage's policy read last, from 1

	observe wire.ObserveRequest
	bind    wire.BindRequest
}

// entry is one scope's binding.
type entry struct {
	scope  policy.Scope
	digest wire.Digest
	idle   uint32 // seconds that a binding lives without use
	policy.Binding
	remembered bool // the service was not there: it is what the context saw last
}

// remember gives the request its memo, in the memory of a former one if it can.
func (r *Request) remember(target spec.Target) *memo {
	if r.memory == nil {
		r.memory = &memo{}
	}
	r.memo = r.memory
	r.memo.target = target
	return r.memo
}

// forget empties the memo and keeps its memory. No key and no engine outlives
// its request here.
func (m *memo) forget() {
	clear(m.entries)
	clear(m.lookups)
	clear(m.buckets)
	clear(m.candidates)
	clear(m.observe.Scopes)
	clear(m.bind.Proposals)
	*m = memo{
		entries: m.entries[:0], lookups: m.lookups[:0], buckets: m.buckets[:0], candidates: m.candidates[:0],
		observe: wire.ObserveRequest{Scopes: m.observe.Scopes[:0]}, bind: wire.BindRequest{Proposals: m.bind.Proposals[:0]},
	}
}

// lookup finds a source's answer, -1 when there is none.
func (m *memo) lookup(source string) int {
	return slices.IndexFunc(m.lookups, func(l lookup) bool { return l.Source == source })
}

// binding answers a policy and notes what it asked for: a new placement of its
// stage is one of that scope.
func (r *Request) binding(s policy.Scope) policy.Binding {
	m := r.memo
	if m == nil || s.Stage > core.StageDecode {
		return policy.Binding{}
	}
	at := slices.IndexFunc(m.entries, func(e entry) bool { return e.scope == s })
	if at < 0 {
		return policy.Binding{}
	}
	m.read[s.Stage] = int32(at) + 1
	return m.entries[at].Binding
}

// Placed is the engine that the key of one group is bound to (core.Placements).
func (m *memo) Placed(bucketID string, stage core.Stage) core.WorkerID {
	for i := range m.entries {
		if e := &m.entries[i]; e.scope.Stage == stage && e.scope.Bucket == bucketID {
			return e.Worker
		}
	}
	return ""
}

// entryOf gives the scope that a pick of a stage was made by, nil when its policy
// read none of this bucket.
func (m *memo) entryOf(bucketID string, stage core.Stage) *entry {
	at := m.read[stage]
	if at == 0 || m.entries[at-1].scope.Bucket != bucketID {
		return nil
	}
	return &m.entries[at-1]
}

// set takes what the service says of a scope.
func (e *entry) set(b *wire.Binding) {
	e.Binding, e.remembered = policy.Binding{}, false
	switch {
	case b == nil:
	case b.State == wire.BindingNone:
		e.State = policy.BindingNone
	case b.State == wire.BindingBound && b.Worker != "":
		e.Binding = policy.Binding{State: policy.BindingBound, Worker: b.Worker}
	}
}

// bindable reports whether a new placement at an engine is worth asking for: the
// service was there, and the scope is not bound to that engine already.
func (e *entry) bindable(to core.WorkerID) bool {
	return e != nil && e.State != policy.BindingUnavailable && !e.remembered && e.Worker != to
}

// wire is the scope as it crosses the wire.
func (e *entry) wire() wire.Scope {
	return wire.Scope{Digest: e.digest, Kind: kindOf(e.scope.Kind), Model: e.scope.Model, Bucket: e.scope.Bucket, Stage: e.scope.Stage}
}

// bindingOf finds a scope in a reply, nil when it is not there.
func bindingOf(list []wire.Binding, d wire.Digest) *wire.Binding {
	at := slices.IndexFunc(list, func(b wire.Binding) bool { return b.Digest == d })
	if at < 0 {
		return nil
	}
	return &list[at]
}
