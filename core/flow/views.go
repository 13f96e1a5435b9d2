package flow

import (
	"cmp"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
)

// Views is what policies see of bindings and prefixes: those of the request that
// picks at the moment. Policies are shared by the requests of a context, so the
// one object serves them all. It implements policy.Bindings and
// policy.PrefixView. Single-threaded.
type Views struct {
	request *Request // nil between picks
}

// Binding gives what the request's memo knows of a scope. Scopes that nobody
// asked about are unavailable.
func (v *Views) Binding(s policy.Scope) policy.Binding {
	if v.request == nil {
		return policy.Binding{}
	}
	return v.request.binding(s)
}

// Lookup gives the request's one lookup at a source.
func (v *Views) Lookup(source string, least uint64, _ *core.PickRequest) policy.Lookup {
	if v.request != nil {
		v.request.source = source
	}
	if source == policy.SourceHistory && v.request != nil && v.request.ctx.past != nil {
		return v.request.lookBack(least)
	}
	if v.request == nil || v.request.memo == nil {
		return policy.Lookup{Detail: "the source was not asked"}
	}
	m := v.request.memo
	at := m.lookup(source)
	if at < 0 {
		return policy.Lookup{Detail: m.unasked}
	}
	l := &m.lookups[at]
	answer := policy.Lookup{Outcome: outcomeOf(&l.Lookup), Blocks: l.Blocks, Shared: min(l.Shared, l.Blocks), Detail: l.Detail}
	if v.request.expects(l) && v.request.expected(l) {
		answer.Outcome = policy.LookupHit
	}
	return answer
}

// Depth gives how many of the query's blocks an engine holds. Asking in ID order
// costs constant time per engine.
func (v *Views) Depth(source string, w *core.Worker) uint64 {
	if source == policy.SourceHistory && v.request != nil && v.request.ctx.past != nil {
		return v.request.ctx.past.table.Depth(w)
	}
	if v.request == nil || v.request.memo == nil {
		return 0
	}
	m := v.request.memo
	at := m.lookup(source)
	if at < 0 {
		return 0
	}
	l := &m.lookups[at]
	depth := l.depth(w.ID)
	if v.request.expects(l) {
		v.request.lookAhead()
		depth = max(depth, v.request.pendingDepth(l, w))
	}
	return depth
}

// Sent gives how much an engine was sent lately that it did not hold.
func (v *Views) Sent(source string, w *core.Worker) uint64 {
	if source == policy.SourceHistory && v.request != nil && v.request.ctx.past != nil {
		return v.request.ctx.past.table.Sent(w)
	}
	if v.request == nil {
		return 0
	}
	return v.request.ctx.sent.of(w)
}

// outcomeOf reads an answer. A hit without a query makes no sense.
func outcomeOf(l *wire.Lookup) policy.LookupOutcome {
	switch l.Outcome {
	case wire.LookupMiss:
		return policy.LookupMiss
	case wire.LookupHit:
		if l.Blocks > 0 {
			return policy.LookupHit
		}
		return policy.LookupInvalid
	case wire.LookupInvalid:
		return policy.LookupInvalid
	case wire.LookupUnavailable:
	}
	return policy.LookupUnavailable
}

// lookup is one source's answer with its depths in ID order.
type lookup struct {
	wire.Lookup
	finger int  // where the last depth was found
	noted  bool // it was counted whether what is pending says more
}

// counts reports whether the answer is one: what the source knows of the prompt, or
// that it knows none of it.
func (l *lookup) counts() bool {
	return l.Blocks > 0 && (l.Outcome == wire.LookupHit || l.Outcome == wire.LookupMiss)
}

// deepest is the most blocks that one engine holds.
func (l *lookup) deepest() (most uint64) {
	for i := range l.Depths {
		most = max(most, l.Depths[i].Blocks)
	}
	return most
}

func newLookup(l *wire.Lookup) lookup {
	slices.SortFunc(l.Depths, byWorker)
	return lookup{Lookup: *l}
}

func byWorker(a, b wire.Depth) int { return cmp.Compare(a.Worker, b.Worker) }

// depth is how many blocks an engine holds.
func (l *lookup) depth(id core.WorkerID) uint64 {
	if d := l.of(id); d != nil {
		return d.Blocks
	}
	return 0
}

// of finds an engine from where the last one was found: policies go through
// their candidates in the same order.
func (l *lookup) of(id core.WorkerID) *wire.Depth {
	d := l.Depths
	if l.finger >= len(d) || d[l.finger].Worker > id {
		l.finger, _ = slices.BinarySearchFunc(d, wire.Depth{Worker: id}, byWorker)
	}
	for l.finger < len(d) && d[l.finger].Worker < id {
		l.finger++
	}
	if l.finger < len(d) && d[l.finger].Worker == id {
		return &d[l.finger]
	}
	return nil
}
