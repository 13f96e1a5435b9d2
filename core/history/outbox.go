package history

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// MaxOutbox bounds the boundaries that wait for the next sync. A context adds this
// many in a tick when it sends a few MB of new prompt a second.
const MaxOutbox = 1024

// Outbox collects what a context enters, for other proxies. The zero value is
// empty. Single-threaded.
type Outbox struct {
	runs    []wire.Run
	hashes  []uint64
	sizes   []uint16
	dropped uint64
}

// Add notes the boundaries of a prompt that an engine was not known to hold.
// fresh is as Enter gives it. What has no room is dropped and counted.
func (o *Outbox) Add(w *core.Worker, p *Path, fresh int) {
	n := p.Len() - fresh
	if n <= 0 {
		return
	}
	if o.hashes == nil {
		o.hashes, o.sizes = make([]uint64, 0, MaxOutbox), make([]uint16, 0, MaxOutbox)
	}
	if len(o.hashes)+n > MaxOutbox {
		o.dropped += uint64(n)
		return
	}
	s, from := p.steps(fresh, p.Len()), len(o.hashes)
	o.hashes, o.sizes = append(o.hashes, s.hashes...), append(o.sizes, s.sizes...)
	o.runs = append(o.runs, wire.Run{
		Worker: w.ID, Generation: w.Generation, Parent: s.parent,
		Hashes: o.hashes[from:], Sizes: o.sizes[from:],
	})
}

// Drain gives what was added since the last call. It is valid until the next Add.
func (o *Outbox) Drain() []wire.Run {
	runs := o.runs
	o.runs, o.hashes, o.sizes = o.runs[:0], o.hashes[:0], o.sizes[:0]
	return runs
}

// Dropped counts the boundaries that had no room so far.
func (o *Outbox) Dropped() uint64 { return o.dropped }

// Import enters what another proxy has sent an engine. A run that makes no sense,
// or is of another life of the engine, changes nothing.
func (t *Table) Import(w *core.Worker, run *wire.Run, capacity core.Count) {
	if w.Generation != 0 && run.Generation != 0 && w.Generation != run.Generation || !sound(run) {
		return
	}
	t.enter(w, steps{parent: run.Parent, hashes: run.Hashes, sizes: run.Sizes}, capacity)
}

func sound(run *wire.Run) bool {
	if len(run.Hashes) == 0 || len(run.Hashes) > MaxBoundaries || len(run.Sizes) != len(run.Hashes) {
		return false
	}
	for _, size := range run.Sizes {
		if size == 0 || size > Chunk {
			return false
		}
	}
	return true
}
