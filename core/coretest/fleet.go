package coretest

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
)

// Fleet is a worker registry by hand. It gives each worker a slot and a breaker
// of the default configuration.
type Fleet struct {
	version uint64
	workers []*core.Worker // present ones, in ID order
	rows    []fleetRow     // by slot, former workers without an owner
	lookups int
}

type fleetRow struct {
	owner *core.Worker
	door  breaker.Breaker
}

// NewFleet makes a fleet of workers with distinct IDs, in any order.
func NewFleet(workers ...*core.Worker) *Fleet {
	f := &Fleet{}
	for _, w := range workers {
		f.Add(w)
	}
	return f
}

// Add puts w into the fleet, in place of a worker with the same ID, and gives it
// the next slot.
func (f *Fleet) Add(w *core.Worker) {
	f.Remove(w.ID)
	w.Slot = len(f.rows)
	f.rows = append(f.rows, fleetRow{owner: w})
	at, _ := f.find(w.ID)
	f.workers = slices.Insert(f.workers, at, w)
	f.version++
}

// Remove takes the worker of the ID out, if there is one.
func (f *Fleet) Remove(id core.WorkerID) {
	if at, found := f.find(id); found {
		f.rows[f.workers[at].Slot].owner = nil
		f.workers = slices.Delete(f.workers, at, at+1)
		f.version++
	}
}

func (f *Fleet) find(id core.WorkerID) (int, bool) { return core.FindWorker(f.workers, id) }

// Worker gives the worker of the ID, nil when there is none.
func (f *Fleet) Worker(id core.WorkerID) *core.Worker {
	if at, found := f.find(id); found {
		return f.workers[at]
	}
	return nil
}

// Breaker gives the breaker of a worker of the fleet, valid until the next Add.
func (f *Fleet) Breaker(w *core.Worker) *breaker.Breaker { return &f.rows[w.Slot].door }

// Version counts the changes of the fleet.
func (f *Fleet) Version() uint64 { return f.version }

// Serving lists the workers that serve a model, in ID order.
func (f *Fleet) Serving(model string) []*core.Worker {
	f.lookups++
	var serving []*core.Worker
	for _, w := range f.workers {
		if w.Serves(model) {
			serving = append(serving, w)
		}
	}
	return serving
}

// Lookups is how often Serving was asked.
func (f *Fleet) Lookups() int { return f.lookups }

// Settled is false: tests change workers and breakers by hand.
func (f *Fleet) Settled() bool { return false }

// Available reports whether w is in the fleet, healthy, takes new requests and
// has a breaker that would let one through.
func (f *Fleet) Available(w *core.Worker, now core.Instant) bool {
	row := &f.rows[w.Slot]
	return row.owner == w && w.Healthy && !w.Draining && row.door.Allows(now)
}

// Drains reports whether w would be available, were it not draining.
func (f *Fleet) Drains(w *core.Worker, now core.Instant) bool {
	row := &f.rows[w.Slot]
	return row.owner == w && w.Healthy && w.Draining && row.door.Allows(now)
}
