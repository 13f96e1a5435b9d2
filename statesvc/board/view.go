package board

import "github.com/pointsman/pointsman/core"

// View is one worker as people see it.
type View struct {
	Worker       core.Worker
	Recoveries   uint64
	Inflight     uint64 // of all live contexts
	OpenBreakers int    // live contexts whose breaker refuses the worker
	// Report is nil without a fresh one.
	Report    *core.LoadReport
	AgeMillis uint64
}

// Workers lists the fleet by worker ID. The result shares nothing that changes.
func (b *Board) Workers() []View {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	b.expire(now)
	views := make([]View, 0, len(b.sorted))
	for _, r := range b.sorted {
		v := View{
			Worker: r.worker, Recoveries: r.recoveries,
			Inflight: r.life.Inflight(), OpenBreakers: r.life.OpenBreakers(),
		}
		if reading, fresh := b.loads.Get(r.worker.ID, now); fresh {
			v.Report, v.AgeMillis = &reading.Report, uint64(max(now-reading.At, 0))
		}
		views = append(views, v)
	}
	return views
}

// Counts is the board's size and history in numbers.
type Counts struct {
	Replica         uint64
	Version         uint64
	Contexts        int
	Gauges          int
	ContextsExpired uint64
	Syncs           SyncCounts
}

// Counts gives the present numbers.
func (b *Board) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(b.clock())
	return Counts{
		Replica: b.replica, Version: b.version,
		Contexts: b.book.Contexts(), Gauges: b.book.Gauges(), ContextsExpired: b.book.Expired(),
		Syncs: b.syncs,
	}
}
