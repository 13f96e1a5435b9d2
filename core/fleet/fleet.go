// Package fleet is what one filter context knows of the engines: the members
// the state service named (or the static ones of the configuration), their
// reported load and its age, this context's own charges, and a circuit breaker
// per engine. It answers bucket.Registry and policy.LoadView.
//
// A Fleet belongs to one context and is not safe for concurrent use. Its memory
// is bounded by the fleet and by the requests in flight.
package fleet

import (
	"sort"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
)

// FreshFor is how long a load report counts after it was taken
// (engine-selection.md 5.4), in milliseconds. In-flight counts of other
// contexts are dropped when no reply was applied for as long.
const FreshFor = 5000

// Fleet holds the members and everything observed of them.
type Fleet struct {
	breakers breaker.Config
	rows     map[core.WorkerID]*row // members
	departed map[core.WorkerID]*row // former members that still hold charges
	slots    []*row                 // by core.Worker.Slot; nil when free
	free     []int

	version  uint64 // steps when membership or a descriptor changes
	serving  map[string][]*core.Worker
	models   []string
	bases    map[string]string // adapter name -> base model
	known    bool              // a fleet was applied or configured
	replica  uint64            // last applied snapshot
	snapshot uint64
	lastSeq  uint64
	lastSync core.Instant
	synced   bool
}

// row is one life of one engine. A new generation is a new row, so what was
// charged to a former life never touches the present one (invariant I7).
type row struct {
	worker     *core.Worker
	breaker    breaker.Breaker
	recoveries uint64
	own        uint64 // open charges of this context
	others     uint64 // in-flight of other contexts at the last reply
	open       *Charge
	report     core.LoadReport
	reportAt   core.Instant
	hasReport  bool
	answeredAt core.Instant
	answered   bool
}

// New returns a fleet of the static workers, empty and unknown when there are
// none.
func New(cfg breaker.Config, static []core.Worker) *Fleet {
	f := &Fleet{
		breakers: cfg,
		rows:     map[core.WorkerID]*row{},
		departed: map[core.WorkerID]*row{},
		serving:  map[string][]*core.Worker{},
		bases:    map[string]string{},
	}
	for _, w := range static {
		w.Healthy = true
		f.put(w, 0)
	}
	f.known = len(static) > 0
	f.reindex()
	return f
}

// Known reports whether there is a fleet to route to: a static one or one that
// the state service sent, be it empty. A known fleet never expires (design
// section 7).
func (f *Fleet) Known() bool { return f.known }

// Version steps whenever membership or a descriptor changes.
func (f *Fleet) Version() uint64 { return f.version }

// Models lists the model names that members serve, sorted, adapters included.
func (f *Fleet) Models() []string { return f.models }

// Base gives the model that an adapter of the fleet belongs to.
func (f *Fleet) Base(adapter string) (string, bool) {
	base, ok := f.bases[adapter]
	return base, ok
}

// Serving lists the members that serve the model, by ID. Callers must not
// modify the list.
func (f *Fleet) Serving(model string) []*core.Worker { return f.serving[model] }

// Has reports whether the fleet has a member of that ID.
func (f *Fleet) Has(id core.WorkerID) bool { return f.rows[id] != nil }

// Available reports whether the worker may take a new request: a healthy
// member, not draining, whose breaker would admit it.
func (f *Fleet) Available(w *core.Worker, now core.Instant) bool {
	r := f.at(w)
	return r != nil && w.Healthy && !w.Draining && r.breaker.Allows(now)
}

// Report gives the worker's fresh load report.
func (f *Fleet) Report(w *core.Worker, now core.Instant) (*core.LoadReport, bool) {
	r := f.at(w)
	if r == nil || !r.hasReport || now-r.reportAt > FreshFor {
		return nil, false
	}
	return &r.report, true
}

// ReportAge gives the age in milliseconds of the worker's last report, fresh or
// not.
func (f *Fleet) ReportAge(w *core.Worker, now core.Instant) core.Count {
	r := f.at(w)
	if r == nil || !r.hasReport || now < r.reportAt {
		return core.Count{}
	}
	return core.Known(uint64(now - r.reportAt))
}

// Inflight counts the worker's requests in flight: this context's own exact
// count and what other contexts last reported.
func (f *Fleet) Inflight(w *core.Worker) uint64 {
	r := f.at(w)
	if r == nil {
		return 0
	}
	return r.own + r.others
}

// at finds the row of a live member object, nil for a former one.
func (f *Fleet) at(w *core.Worker) *row {
	if w.Slot < 0 || w.Slot >= len(f.slots) {
		return nil
	}
	if r := f.slots[w.Slot]; r != nil && r.worker == w {
		return r
	}
	return nil
}

// put adds or replaces a member. The worker object is always a new one.
func (f *Fleet) put(w core.Worker, recoveries uint64) {
	r := f.rows[w.ID]
	if r == nil {
		r = f.join(&w)
	} else if r.worker.Generation != w.Generation {
		r = f.restart(r, &w)
	}
	if recoveries > r.recoveries {
		r.breaker.HalfOpen()
	}
	r.recoveries = recoveries
	w.Slot = f.slotOf(r)
	r.worker = &w
	f.rows[w.ID] = r
	f.slots[w.Slot] = r
}

// join makes the row of a new member. A member that left and came back in the
// same life finds its charges again (field report A50).
func (f *Fleet) join(w *core.Worker) *row {
	former := f.departed[w.ID]
	delete(f.departed, w.ID)
	if former != nil && former.worker.Generation == w.Generation {
		former.worker = nil
		return former
	}
	return &row{breaker: breaker.New(f.breakers)}
}

// restart makes the row of an engine's next life. An open breaker half-opens at
// once (design section 5); charges of the former life stay with its row.
func (f *Fleet) restart(old *row, w *core.Worker) *row {
	r := &row{breaker: breaker.New(f.breakers), worker: &core.Worker{Slot: old.worker.Slot}}
	if _, open := old.breaker.OpenFor(0); open {
		r.breaker = old.breaker
		r.breaker.HalfOpen()
	}
	return r
}

// slotOf gives a row its place in slots: the one it has, a free one or a new one.
func (f *Fleet) slotOf(r *row) int {
	if r.worker != nil {
		return r.worker.Slot
	}
	if n := len(f.free); n > 0 {
		slot := f.free[n-1]
		f.free = f.free[:n-1]
		return slot
	}
	f.slots = append(f.slots, nil)
	return len(f.slots) - 1
}

// drop removes a member. Its row lives on while it holds charges.
func (f *Fleet) drop(id core.WorkerID) {
	r := f.rows[id]
	if r == nil {
		return
	}
	delete(f.rows, id)
	f.slots[r.worker.Slot] = nil
	f.free = append(f.free, r.worker.Slot)
	r.others, r.hasReport = 0, false
	if r.own > 0 {
		f.departed[id] = r
	}
}

// reindex rebuilds the per-model lists after a change of members.
func (f *Fleet) reindex() {
	f.version++
	clear(f.serving)
	clear(f.bases)
	for _, r := range f.rows {
		for _, m := range r.worker.Models {
			f.serving[m] = append(f.serving[m], r.worker)
		}
		for _, a := range r.worker.Adapters {
			f.serving[a.Name] = append(f.serving[a.Name], r.worker)
		}
	}
	f.models = f.models[:0]
	for model, list := range f.serving {
		f.models = append(f.models, model)
		sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
		f.indexAdapters(model, list)
	}
	sort.Strings(f.models)
}

// indexAdapters notes the base of an adapter name. Where members disagree the
// smallest worker ID decides, so that map order never does (invariant I8).
func (f *Fleet) indexAdapters(name string, list []*core.Worker) {
	for _, w := range list {
		for _, a := range w.Adapters {
			if a.Name == name {
				f.bases[name] = a.Base
				return
			}
		}
	}
}
