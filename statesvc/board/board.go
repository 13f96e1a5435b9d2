package board

import (
	"slices"
	"sync"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/pointsman/pointsman/statesvc/loadtable"
)

// Options are a Board's facts. All are required.
type Options struct {
	// Replica is a random number that names this instance of the service; never
	// zero. A context that knows another instance gets the whole fleet.
	Replica uint64
	// Clock gives the present instant and never runs backwards.
	Clock func() core.Instant
	// Gauges bounds the contexts.
	Gauges gauges.Limits
	// Freshness is how long a load report counts, in milliseconds.
	Freshness core.Instant
	// Tombstones bounds the removed workers that deltas remember. A context that
	// is further behind gets the whole fleet.
	Tombstones int
}

// Board holds the rows.
type Board struct {
	replica uint64
	clock   func() core.Instant

	mu      sync.Mutex
	version uint64 // of the last change
	rows    map[core.WorkerID]*row
	sorted  []*row // by worker ID
	graves  graveyard
	book    *gauges.Book
	loads   *loadtable.Table
	syncs   SyncCounts
}

// row is one worker.
type row struct {
	worker     core.Worker
	recoveries uint64
	life       *gauges.Life
	described  uint64 // version at which the descriptor changed
	loaded     uint64 // version at which report or in-flight changed
}

// New returns an empty board at version 1, so that version 0 always means that
// a context knows nothing.
func New(o Options) *Board {
	return &Board{
		replica: o.Replica, clock: o.Clock, version: 1,
		rows:   map[core.WorkerID]*row{},
		graves: graveyard{room: o.Tombstones},
		book:   gauges.NewBook(o.Gauges), loads: loadtable.New(o.Freshness),
	}
}

// Describe adds a worker or replaces its descriptor. The same generation keeps
// what is known of its load (field report A05); a new one starts with nothing.
// An unchanged descriptor is no change of version. The board keeps w's slices.
func (b *Board) Describe(w core.Worker, recoveries uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[w.ID]
	if r != nil && r.recoveries == recoveries && sameWorker(&r.worker, &w) {
		return
	}
	b.version++
	if r == nil {
		r = &row{}
		b.rows[w.ID] = r
		at, _ := slices.BinarySearchFunc(b.sorted, w.ID, compareID)
		b.sorted = slices.Insert(b.sorted, at, r)
	}
	if r.life == nil || r.life.Generation != w.Generation {
		r.life = &gauges.Life{Worker: w.ID, Generation: w.Generation}
		b.loads.Drop(w.ID)
		r.loaded = b.version
	}
	r.worker, r.recoveries, r.described = w, recoveries, b.version
}

func compareID(r *row, id core.WorkerID) int {
	switch {
	case r.worker.ID < id:
		return -1
	case r.worker.ID > id:
		return 1
	}
	return 0
}

func sameWorker(a, b *core.Worker) bool {
	return a.Address == b.Address && a.Stage == b.Stage && a.Version == b.Version && a.Generation == b.Generation &&
		a.Healthy == b.Healthy && a.Draining == b.Draining && a.Aborts == b.Aborts &&
		a.Ranks == b.Ranks && a.InputIDs == b.InputIDs &&
		slices.Equal(a.Services, b.Services) && slices.Equal(a.Models, b.Models) && slices.Equal(a.Adapters, b.Adapters)
}

// Has reports whether a worker has a row.
func (b *Board) Has(id core.WorkerID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rows[id] != nil
}

// Remove takes a worker out of the fleet. Gauges that still name it are ignored.
func (b *Board) Remove(id core.WorkerID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, found := slices.BinarySearchFunc(b.sorted, id, compareID)
	if !found {
		return
	}
	b.version++
	b.sorted = slices.Delete(b.sorted, at, at+1)
	delete(b.rows, id)
	b.loads.Drop(id)
	b.graves.bury(id, b.version)
}

// Report takes over a load report of the worker's present generation, received
// at the given instant. A report of another life is dropped.
func (b *Board) Report(id core.WorkerID, generation uint64, report core.LoadReport, at core.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[id]
	if r == nil || r.life.Generation != generation {
		return
	}
	if b.loads.Put(id, loadtable.Reading{Report: report, At: at}) {
		b.version++
		r.loaded = b.version
	}
}

// AnsweredWithin reports whether any context saw a request to the worker begin
// to be answered during the last span milliseconds.
func (b *Board) AnsweredWithin(id core.WorkerID, span core.Instant) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[id]
	return r != nil && r.life.AnsweredWithin(b.clock(), span)
}

// Sweep forgets what has expired and gives the span in milliseconds until
// something else can, idle when nothing is held.
func (b *Board) Sweep(idle core.Instant) core.Instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	b.expire(now)
	next := now + idle
	if at, ok := b.book.NextExpiry(); ok {
		next = min(next, at)
	}
	if at, ok := b.loads.NextLapse(); ok {
		next = min(next, at)
	}
	return max(next-now, 1)
}

// expire brings the board up to now. Every reader calls it, so nothing stale is
// ever shown, however late the sweeper runs.
func (b *Board) expire(now core.Instant) {
	next := b.version + 1
	moved := false
	b.book.Expire(now, func(l *gauges.Life) {
		moved = b.touch(l, next) || moved
	})
	b.loads.Lapse(now, func(id core.WorkerID) {
		if r := b.rows[id]; r != nil {
			r.loaded, moved = next, true
		}
	})
	if moved {
		b.version = next
	}
}

// touch marks the row of a present life as changed at the given version. A
// former life has no row.
func (b *Board) touch(l *gauges.Life, version uint64) bool {
	r := b.rows[l.Worker]
	if r == nil || r.life != l {
		return false
	}
	r.loaded = version
	return true
}
