package history

import (
	"math"

	"github.com/pointsman/pointsman/core"
)

// row is one engine's cache as the table models it: its entries in the order of
// their last use.
type row struct {
	id         core.WorkerID
	worker     *core.Worker // as last seen
	generation uint64
	newest     uint32 // holder
	oldest     uint32 // holder
	count      int
	bytes      uint64
	sent       uint64 // bytes that it did not hold before, fewer of older ones
	capacity   capacity
}

const rowBytes = 96 // with its reached

// reached is how much of the prompt last looked up an engine holds. Those of all
// engines lie close together, and a lookup touches nothing else of an engine.
type reached struct {
	worker *core.Worker // of the row
	epoch  uint32       // of the lookup that depth is of
	depth  uint32       // bytes
}

// capacity is the bytes of prompts an engine can cache; unknown is no bound.
type capacity struct{ bytes core.Count }

// set takes a reported number of tokens. A report that is missing changes nothing.
func (c *capacity) set(tokens core.Count) {
	if tokens.Known {
		c.bytes = core.Known(min(tokens.N, math.MaxUint64/BytesPerToken) * BytesPerToken)
	}
}

// is reports whether the row is of this life of an engine. An unknown generation
// is no evidence of another life.
func (r *row) is(w *core.Worker) bool {
	return r.id == w.ID && (r.generation == w.Generation || r.generation == 0 || w.Generation == 0)
}

// row finds an engine's row. What the row held of another engine, or of a former
// life of this one, goes.
func (t *Table) row(w *core.Worker) (at uint16, ok bool) {
	if w.Slot < 0 || w.Slot > math.MaxUint16 {
		return 0, false
	}
	for len(t.rows) <= w.Slot {
		t.rows, t.reached = append(t.rows, row{}), append(t.reached, reached{})
	}
	r := &t.rows[w.Slot]
	if !r.is(w) {
		t.clear(uint16(w.Slot))
		*r, t.reached[w.Slot] = row{id: w.ID}, reached{}
	}
	r.worker, t.reached[w.Slot].worker = w, w
	if w.Generation != 0 {
		r.generation = w.Generation
	}
	return uint16(w.Slot), true
}

// clear forgets all entries of a row.
func (t *Table) clear(r uint16) {
	for t.rows[r].oldest != 0 {
		t.drop(t.rows[r].oldest)
	}
}

// fit forgets a row's oldest entries until the rest fits its engine.
func (t *Table) fit(r uint16) {
	for row := &t.rows[r]; row.capacity.bytes.Known && row.bytes > row.capacity.bytes.N && row.count > 1; {
		t.drop(row.oldest)
	}
}

// makeRoom forgets an entry: the oldest of an engine that has more than its share.
func (t *Table) makeRoom() {
	average := t.holders.used / len(t.rows)
	for range t.rows {
		t.hand = (t.hand + 1) % len(t.rows)
		if r := &t.rows[t.hand]; r.count > 0 && r.count >= average {
			// Several at once, so that the search for a victim is rare.
			for range min(max(r.count/8, 1), MaxBoundaries) {
				t.drop(r.oldest)
			}
			return
		}
	}
}
