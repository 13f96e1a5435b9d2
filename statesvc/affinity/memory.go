package affinity

import (
	"context"
	"sync"
	"unsafe"

	"github.com/pointsman/pointsman/core"
)

// Limits bounds a Memory.
type Limits struct {
	Bindings int   // most bindings, above zero
	Bytes    int64 // most memory, by Size; above zero
}

// Stats counts what a Memory holds and has done since it was made.
type Stats struct {
	Bindings  int
	Bytes     int64  // an estimate of what they occupy
	Expired   uint64 // idle for too long
	Evicted   uint64 // made room for others while they still counted
	Forgotten uint64 // their engine was removed
}

// Memory is a Store of one process. When it is full the binding that was not used
// for longest makes room.
type Memory struct {
	limits int // most bindings, both limits in one

	mu      sync.Mutex
	index   map[Digest]slot
	entries []entry
	free    []slot
	workers roster
	order   ring // of slots, last used first
	stats   Stats
}

// slot is a place in Memory.entries. Slot 0 is the anchor of the order.
type slot = uint32

// entry is one binding.
type entry struct {
	scope      Digest
	used       core.Instant
	idle       core.Instant
	worker     uint32 // in the roster
	prev, next slot
}

// Size is what one binding is taken to occupy: its entry and its place in the
// index, at the index's mean fill.
const Size = int64(unsafe.Sizeof(entry{})) + 2*int64(unsafe.Sizeof(Digest{})+unsafe.Sizeof(slot(0)))

// NewMemory makes an empty store.
func NewMemory(limits Limits) *Memory {
	most := min(int64(limits.Bindings), limits.Bytes/Size)
	m := &Memory{limits: int(max(most, 0)), index: map[Digest]slot{}, entries: make([]entry, 1)}
	m.order = ring{m}
	return m
}

// Bound implements Store. Its error is always nil, as are those of the other
// methods.
func (m *Memory) Bound(_ context.Context, now core.Instant, scopes []Digest) ([]core.WorkerID, error) {
	bound := make([]core.WorkerID, len(scopes))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, scope := range scopes {
		if at, ok := m.live(scope, now); ok {
			bound[i] = m.workers.name(m.entries[at].worker)
		}
	}
	return bound, nil
}

// Bind implements Store.
func (m *Memory) Bind(_ context.Context, now core.Instant, proposals []Proposal) ([]core.WorkerID, error) {
	bound := make([]core.WorkerID, len(proposals))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range proposals {
		bound[i] = m.bind(now, &proposals[i])
	}
	return bound, nil
}

func (m *Memory) bind(now core.Instant, p *Proposal) core.WorkerID {
	at, ok := m.live(p.Scope, now)
	if !ok {
		if at, ok = m.place(p.Scope); !ok {
			return ""
		}
		m.entries[at].worker = m.workers.take(p.Worker)
	}
	e := &m.entries[at]
	if current := m.workers.name(e.worker); current == p.Seen && current != p.Worker {
		m.workers.leave(e.worker)
		e.worker = m.workers.take(p.Worker)
	}
	e.idle = p.Idle
	m.use(at, now)
	return m.workers.name(e.worker)
}

// Touch implements Store.
func (m *Memory) Touch(_ context.Context, now core.Instant, uses []Use) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range uses {
		if at, ok := m.live(uses[i].Scope, now); ok && m.workers.name(m.entries[at].worker) == uses[i].Worker {
			m.use(at, now)
		}
	}
	return nil
}

// Forget implements Store. It looks at every binding.
func (m *Memory) Forget(_ context.Context, worker core.WorkerID) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.workers.find(worker)
	if !ok {
		return 0, nil
	}
	forgotten := 0
	for at := slot(1); at < slot(len(m.entries)); at++ {
		if m.held(at) && m.entries[at].worker == id {
			m.remove(at)
			forgotten++
		}
	}
	m.stats.Forgotten += uint64(forgotten)
	return forgotten, nil
}

// sweepBatch bounds the bindings a sweep looks at before it lets others in.
const sweepBatch = 4096

// Sweep removes the bindings that were idle for too long at now and says how many:
// each is counted once, whoever found it.
func (m *Memory) Sweep(now core.Instant) int {
	expired := 0
	for at := slot(1); ; at += sweepBatch {
		n, more := m.sweep(now, at)
		expired += n
		if !more {
			return expired
		}
	}
}

func (m *Memory) sweep(now core.Instant, from slot) (expired int, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := from
	for ; at < from+sweepBatch && at < slot(len(m.entries)); at++ {
		if m.held(at) && m.idle(at, now) {
			m.expire(at) // the last one to go gives the entries back
			expired++
		}
	}
	return expired, at < slot(len(m.entries))
}

// Stats counts.
func (m *Memory) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Bindings = len(m.index)
	s.Bytes = int64(len(m.index)) * Size
	return s
}

// live finds a scope's binding if it still counts. One that does not is removed.
func (m *Memory) live(scope Digest, now core.Instant) (slot, bool) {
	at, ok := m.index[scope]
	if ok && m.idle(at, now) {
		m.expire(at)
		return 0, false
	}
	return at, ok
}

// idle reports whether a binding was not used for longer than it lives, the limit
// itself still counting (engine-selection.md 17).
func (m *Memory) idle(at slot, now core.Instant) bool {
	return now-m.entries[at].used > m.entries[at].idle
}

func (m *Memory) expire(at slot) {
	m.remove(at)
	m.stats.Expired++
}

// place makes room for a new binding of a scope, false when the store may hold none.
func (m *Memory) place(scope Digest) (slot, bool) {
	if m.limits == 0 {
		return 0, false
	}
	if len(m.index) >= m.limits {
		m.remove(m.order.last())
		m.stats.Evicted++
	}
	at := slot(len(m.entries))
	if n := len(m.free); n > 0 {
		at, m.free = m.free[n-1], m.free[:n-1]
	} else {
		m.entries = append(m.entries, entry{})
	}
	m.entries[at] = entry{scope: scope}
	m.index[scope] = at
	m.order.push(at)
	return at, true
}

func (m *Memory) use(at slot, now core.Instant) {
	m.entries[at].used = now
	m.order.cut(at)
	m.order.push(at)
}

func (m *Memory) remove(at slot) {
	m.order.cut(at)
	m.workers.leave(m.entries[at].worker)
	delete(m.index, m.entries[at].scope)
	m.entries[at] = entry{}
	m.free = append(m.free, at)
	m.shrink()
}

// held reports whether a slot has a binding: a free one is in no order.
func (m *Memory) held(at slot) bool {
	e := &m.entries[at]
	return e.prev != e.next || m.entries[0].next == at
}

// shrink gives the memory back once the last binding is gone.
func (m *Memory) shrink() {
	if len(m.index) == 0 {
		m.index, m.entries, m.free = map[Digest]slot{}, make([]entry, 1), nil
	}
}
