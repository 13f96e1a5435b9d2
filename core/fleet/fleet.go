// Package fleet is what one filter context knows of the engines: the members
// the state service named (or the static ones of the configuration), their
// reported load and its age, this context's own charges, and a circuit breaker
// per engine. It answers bucket.Registry and policy.LoadView.
//
// A Fleet belongs to one context and is not safe for concurrent use. Its memory
// is bounded by the fleet and by the requests in flight.
package fleet

import (
	"slices"

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
	ajar     bool // a breaker may be open; see Settled
}

// row is one life of one engine. A new generation is a new row, so what was
// charged to a former life never touches the present one (invariant I7).
type row struct {
	worker     *core.Worker
	slot       int    // place in Fleet.slots while a member
	generation uint64 // last known one, 0 when none was
	breaker    breaker.Breaker
	recoveries uint64
	own        uint64   // open charges of this context
	since      uint64   // those taken at or after reportAt
	others     uint64   // in-flight of other contexts at the last reply
	ranks      []uint32 // those of own that are on a known rank, by it
	turn       uint64   // choices among ranks so far
	open       *Charge
	report     core.LoadReport
	reportAt   core.Instant
	hasReport  bool
	answeredAt core.Instant
	answered   bool
	failedAt   core.Instant
	failed     bool
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

// ByAddress finds the member at an address, nil when there is none. It looks at
// every member and is for rare questions.
func (f *Fleet) ByAddress(address string) *core.Worker {
	for _, r := range f.slots {
		if r != nil && r.worker.Address == address {
			return r.worker
		}
	}
	return nil
}

// Member gives the member of that ID, nil when there is none.
func (f *Fleet) Member(id core.WorkerID) *core.Worker {
	if r := f.rows[id]; r != nil {
		return r.worker
	}
	return nil
}

// Has reports whether the fleet has a member of that ID.
func (f *Fleet) Has(id core.WorkerID) bool { return f.rows[id] != nil }

// Behind reports whether the fleet has a member behind a Kubernetes Service.
func (f *Fleet) Behind(service string) bool {
	for _, r := range f.rows {
		if slices.Contains(r.worker.Services, service) {
			return true
		}
	}
	return false
}

// Available reports whether the worker may take a new request: a healthy
// member, not draining, whose breaker would admit it.
func (f *Fleet) Available(w *core.Worker, now core.Instant) bool {
	return f.takes(w, now) && !w.Draining
}

// Settled reports whether no member's breaker is open, so that what Available
// answers follows from the members and their descriptors alone. After a failure
// it takes until the next Expire to be so again.
func (f *Fleet) Settled() bool { return !f.ajar }

// Drains reports whether the worker would be available, were it not draining.
func (f *Fleet) Drains(w *core.Worker, now core.Instant) bool {
	return f.takes(w, now) && w.Draining
}

// takes reports whether the worker is a healthy member whose breaker would admit a
// request.
func (f *Fleet) takes(w *core.Worker, now core.Instant) bool {
	r := f.at(w)
	return r != nil && w.Healthy && r.breaker.Allows(now)
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

// SinceReport counts this context's open charges that were taken at or after the
// worker's last report.
func (f *Fleet) SinceReport(w *core.Worker) uint64 {
	r := f.at(w)
	if r == nil {
		return 0
	}
	return r.since
}

// at finds the row of a live member object, nil for a former one.
func (f *Fleet) at(w *core.Worker) *row {
	if w == nil || w.Slot < 0 || w.Slot >= len(f.slots) {
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
		r = f.join(w.ID)
	}
	if r.ended(w.Generation) {
		r = r.nextLife(f.breakers)
	}
	if w.Generation != 0 {
		r.generation = w.Generation
	}
	if recoveries > r.recoveries {
		r.breaker.HalfOpen()
	}
	r.recoveries = recoveries
	w.Slot = r.slot
	r.worker = &w
	f.rows[w.ID], f.slots[r.slot] = r, r
}

// join makes the row of a new member. A member that left with charges and comes
// back finds them again (field report A50).
func (f *Fleet) join(id core.WorkerID) *row {
	r := f.departed[id]
	delete(f.departed, id)
	if r == nil {
		r = &row{breaker: breaker.New(f.breakers)}
	}
	f.ajar = f.ajar || r.ajar()
	if n := len(f.free); n > 0 {
		r.slot, f.free = f.free[n-1], f.free[:n-1]
	} else {
		r.slot, f.slots = len(f.slots), append(f.slots, nil)
	}
	return r
}

// ended reports whether the row's life is over now that the engine's generation
// is known to be another. An unknown generation is no evidence: a static worker
// has none, nor has one that a new state service has not probed.
func (r *row) ended(generation uint64) bool {
	return generation != 0 && r.generation != 0 && generation != r.generation
}

// ajar reports whether the row's breaker is not closed.
func (r *row) ajar() bool {
	_, open := r.breaker.OpenFor(0)
	return open
}

// nextLife makes the row of an engine's next life. An open breaker half-opens at
// once (design section 5); charges of the former life stay with its row.
func (r *row) nextLife(cfg breaker.Config) *row {
	next := &row{slot: r.slot, recoveries: r.recoveries, breaker: breaker.New(cfg)}
	if r.ajar() {
		next.breaker = r.breaker
		next.breaker.HalfOpen()
	}
	return next
}

// drop removes a member. Its row lives on while it holds charges.
func (f *Fleet) drop(id core.WorkerID) {
	r := f.rows[id]
	if r == nil {
		return
	}
	delete(f.rows, id)
	f.slots[r.slot] = nil
	f.free = append(f.free, r.slot)
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
		slices.SortFunc(list, core.CompareWorkers)
		// A worker that names a model twice is one candidate.
		f.serving[model] = slices.Compact(list)
		f.indexAdapters(model, f.serving[model])
	}
	slices.Sort(f.models)
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
