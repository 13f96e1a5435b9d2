// Package loadtable keeps the last load report of each worker and tells whether
// it still counts. A report that is no longer fresh is unknown, never zero
// (invariant I4). A Table is pure: instants are arguments, and it is not safe
// for concurrent use. Its memory is one reading per worker.
package loadtable

import (
	"container/list"

	"github.com/pointsman/pointsman/core"
)

// Reading is a report and the instant it was received at.
type Reading struct {
	Report core.LoadReport
	At     core.Instant
}

// Table holds the readings.
type Table struct {
	freshness core.Instant
	rows      map[core.WorkerID]*list.Element
	order     *list.List // of *row, oldest reading first
}

type row struct {
	id      core.WorkerID
	reading Reading
}

// New returns an empty table. A reading counts for freshness milliseconds,
// inclusive (engine-selection.md 5.4).
func New(freshness core.Instant) *Table {
	return &Table{freshness: freshness, rows: map[core.WorkerID]*list.Element{}, order: list.New()}
}

// Put replaces the worker's reading. A reading older than the one held is
// dropped, and so is one that is not native while a native one is fresh: engines
// are compared by native reports (engine-selection.md 6), so a poll of less must
// not take one away.
func (t *Table) Put(id core.WorkerID, r Reading) bool {
	e := t.rows[id]
	if e == nil {
		t.rows[id] = t.insert(&row{id: id, reading: r})
		return true
	}
	held := e.Value.(*row)
	if r.At < held.reading.At {
		return false
	}
	if held.reading.Report.Native() && !r.Report.Native() && r.At-held.reading.At <= t.freshness {
		return false
	}
	t.order.Remove(e)
	held.reading = r
	t.rows[id] = t.insert(held)
	return true
}

// insert keeps the order by instant. Readings arrive nearly in order, so the
// walk from the back is short.
func (t *Table) insert(r *row) *list.Element {
	for e := t.order.Back(); e != nil; e = e.Prev() {
		if e.Value.(*row).reading.At <= r.reading.At {
			return t.order.InsertAfter(r, e)
		}
	}
	return t.order.PushFront(r)
}

// Get gives the worker's reading while it is fresh.
func (t *Table) Get(id core.WorkerID, now core.Instant) (Reading, bool) {
	e := t.rows[id]
	if e == nil {
		return Reading{}, false
	}
	r := e.Value.(*row).reading
	return r, now-r.At <= t.freshness
}

// Drop forgets the worker's reading.
func (t *Table) Drop(id core.WorkerID) {
	if e := t.rows[id]; e != nil {
		t.order.Remove(e)
		delete(t.rows, id)
	}
}

// Lapse forgets the readings that are no longer fresh and calls lapsed for each
// worker.
func (t *Table) Lapse(now core.Instant, lapsed func(core.WorkerID)) {
	for e := t.order.Front(); e != nil; e = t.order.Front() {
		r := e.Value.(*row)
		if now-r.reading.At <= t.freshness {
			return
		}
		t.Drop(r.id)
		lapsed(r.id)
	}
}

// NextLapse is the first instant at which a reading is no longer fresh, false
// when the table is empty.
func (t *Table) NextLapse() (core.Instant, bool) {
	front := t.order.Front()
	if front == nil {
		return 0, false
	}
	return front.Value.(*row).reading.At + t.freshness + 1, true
}
