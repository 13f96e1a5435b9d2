package history

import "github.com/pointsman/pointsman/core"

// Bounds of a Pending.
const (
	// PendingEntries is how many entries it holds, one for each boundary and engine:
	// some 30 MB of new prompt within its time.
	PendingEntries = 1 << 15
	// maxDispatches bounds the dispatches it can still take back by time. More of them
	// make the oldest ones end early.
	maxDispatches = 1 << 13
)

// Pending is which engines were sent which prompts a short time ago: what they will
// say they hold once they have computed it (engine-selection.md 10.8). It is a Table
// whose entries end a fixed time after they were last used. Single-threaded.
type Pending struct {
	table *Table
	ttl   core.Instant
	sent  []dispatch // a ring, oldest first
	first int        // of the ring
	open  int        // in the ring
}

// dispatch is one prompt that was sent.
type dispatch struct {
	ordinal uint32
	row     uint16
	ends    core.Instant
}

// NewPending makes an empty one. ttl is how long a prompt counts, in milliseconds.
func NewPending(ttl core.Instant) *Pending { return newPending(ttl, PendingEntries) }

func newPending(ttl core.Instant, entries int) *Pending {
	return &Pending{table: New(entries), ttl: ttl}
}

// Enter notes that an engine is sent a prompt.
func (p *Pending) Enter(w *core.Worker, path *Path, now core.Instant) Mark {
	p.expire(now)
	mark, _ := p.table.Enter(w, path, core.Count{})
	if mark.ordinal == 0 {
		return mark
	}
	switch {
	case p.sent == nil:
		p.sent = make([]dispatch, maxDispatches)
	case p.open == maxDispatches:
		p.end()
	}
	p.sent[(p.first+p.open)%maxDispatches] = dispatch{mark.ordinal, uint16(w.Slot), now + p.ttl}
	p.open++
	return mark
}

// Leave takes back what a dispatch entered: the engine refused it.
func (p *Pending) Leave(w *core.Worker, path *Path, m Mark) { p.table.Leave(w, path, m) }

// Lookup finds which engines were sent how much of a prompt. Depth and Holders are
// of the last one.
func (p *Pending) Lookup(path *Path, now core.Instant) Match {
	p.expire(now)
	return p.table.Lookup(path, 0)
}

// Depth is how many bytes of the prompt last looked up an engine was sent, in its
// present life.
func (p *Pending) Depth(w *core.Worker) uint64 { return p.table.Depth(w) }

// Holders are the engines that were sent some of the prompt last looked up, those of
// a former life included. It is valid until the next lookup.
func (p *Pending) Holders() []*core.Worker { return p.table.Holders() }

// Entries counts the entries in use, Bytes what all of it takes of memory.
func (p *Pending) Entries() int { return p.table.Entries() }

// Bytes is how much memory it takes.
func (p *Pending) Bytes() int { return p.table.Bytes() + cap(p.sent)*dispatchBytes }

const dispatchBytes = 16

// expire forgets what ended.
func (p *Pending) expire(now core.Instant) {
	for p.open > 0 && p.sent[p.first].ends <= now {
		p.end()
	}
}

// end forgets the oldest dispatch, but for what later ones used again.
func (p *Pending) end() {
	oldest := p.sent[p.first]
	p.first, p.open = (p.first+1)%maxDispatches, p.open-1
	p.table.forget(oldest.row, oldest.ordinal)
}
