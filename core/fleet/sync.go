package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// recentFor is how long an open request is reported with its age, in
// milliseconds (design section 4).
const recentFor = 5000

// maxRecentAges bounds the ages reported per worker; the newest are kept.
const maxRecentAges = 256

// Snapshot names the snapshot that the next sync request builds on.
func (f *Fleet) Snapshot() (replica, version uint64) { return f.replica, f.snapshot }

// Gauges appends what this context has to say of its workers: open charges,
// breakers that saw failures and engines that answered.
func (f *Fleet) Gauges(dst []wire.WorkerGauge, now core.Instant, tickMillis uint32) []wire.WorkerGauge {
	for _, r := range f.slots {
		if r == nil || !r.reportable() {
			continue
		}
		g := next(&dst)
		ages := g.RecentAges[:0]
		*g = wire.WorkerGauge{
			ID:            r.worker.ID,
			Generation:    r.worker.Generation,
			Inflight:      uint32(min(r.own, math.MaxUint32)),
			BreakerStreak: uint32(min(uint64(r.breaker.Streak()), math.MaxUint32)),
			BreakerOpen:   !r.breaker.Allows(now),
			RecentAges:    recentAges(ages, r.open, now, tickMillis),
		}
		if r.answered {
			g.AnsweredAge = core.Known(uint64(max(now-r.answeredAt, 0)))
		}
		if r.failed {
			g.FailedAge = core.Known(uint64(max(now-r.failedAt, 0)))
		}
	}
	return dst
}

// reportable reports whether the context has anything to say of the engine.
func (r *row) reportable() bool {
	return r.own > 0 || r.answered || r.failed || r.breaker.Streak() > 0
}

// next grows dst by one, reusing what the slice's memory held before.
func next(dst *[]wire.WorkerGauge) *wire.WorkerGauge {
	d := *dst
	if len(d) < cap(d) {
		d = d[:len(d)+1]
	} else {
		d = append(d, wire.WorkerGauge{})
	}
	*dst = d
	return &d[len(d)-1]
}

func recentAges(dst []uint32, c *Charge, now core.Instant, tickMillis uint32) []uint32 {
	for ; c != nil && len(dst) < maxRecentAges; c = c.next {
		age := max(now-c.at, 0)
		if age >= recentFor {
			break
		}
		dst = append(dst, uint32(age)/max(tickMillis, 1))
	}
	return dst
}

// Apply takes over a reply of the state service. A reply that is not newer than
// the last applied one is dropped without error. A reply that makes no sense
// changes nothing and makes the next request ask for the whole fleet.
func (f *Fleet) Apply(reply *wire.SyncReply, now core.Instant) error {
	if reply.Seq <= f.lastSeq {
		return nil
	}
	if err := f.check(reply); err != nil {
		f.Forget()
		return err
	}
	f.lastSeq, f.lastSync, f.synced = reply.Seq, now, true
	f.replica, f.snapshot = reply.Replica, reply.Version
	if f.applyMembers(reply) || !f.known {
		f.reindex()
	}
	f.known = true
	f.applyStates(reply, now)
	return nil
}

// Forget makes the next sync request ask for the whole fleet.
func (f *Fleet) Forget() { f.replica, f.snapshot = 0, 0 }

// Expire drops the in-flight counts of other contexts once no reply was applied
// for FreshFor: routing then goes by own in-flight alone (design section 7). It
// also looks whether the fleet is settled again. Call it once a tick.
func (f *Fleet) Expire(now core.Instant) {
	if f.ajar {
		f.ajar = slices.ContainsFunc(f.slots, func(r *row) bool { return r != nil && r.ajar() })
	}
	if !f.synced || now-f.lastSync <= FreshFor {
		return
	}
	f.synced = false
	f.Forget()
	for _, r := range f.rows {
		r.others = 0
	}
}

func (f *Fleet) check(reply *wire.SyncReply) error {
	if reply.Replica == 0 {
		return errors.New("sync reply names no replica")
	}
	if !reply.Full && reply.Replica != f.replica {
		return errors.New("sync reply is a delta to a snapshot this context does not hold")
	}
	for i := range reply.Workers {
		w := &reply.Workers[i]
		if w.ID == "" {
			return errors.New("sync reply names a worker without an id")
		}
		if !core.LiteralAddress(w.Address) {
			return fmt.Errorf("sync reply: worker %q has no literal ip:port address", w.ID)
		}
	}
	return nil
}

func (f *Fleet) applyMembers(reply *wire.SyncReply) (changed bool) {
	if reply.Full {
		changed = f.dropAbsent(reply)
	}
	for _, id := range reply.Removed {
		changed = changed || f.rows[id] != nil
		f.drop(id)
	}
	for i := range reply.Workers {
		w := &reply.Workers[i]
		if r := f.rows[w.ID]; r != nil && same(r, w) {
			continue
		}
		changed = true
		f.put(core.Worker{
			ID: w.ID, Address: w.Address, Models: w.Models, Adapters: w.Adapters, Stage: w.Stage, Version: w.Version,
			Services: w.Services, Generation: w.Generation, Healthy: w.Healthy, Draining: w.Draining, Aborts: w.Aborts,
			Ranks: int(w.Ranks), InputIDs: w.InputIDs,
		}, w.Recoveries)
	}
	return changed
}

func (f *Fleet) dropAbsent(reply *wire.SyncReply) (changed bool) {
	named := make(map[core.WorkerID]bool, len(reply.Workers))
	for i := range reply.Workers {
		named[reply.Workers[i].ID] = true
	}
	// In slot order, since it decides which slots new members get and so the order
	// of gauges (invariant I8).
	for _, r := range f.slots {
		if r != nil && !named[r.worker.ID] {
			f.drop(r.worker.ID)
			changed = true
		}
	}
	return changed
}

// same reports whether the wire names the member as it is, so that its object
// and the candidate caches built on it stay.
func same(r *row, w *wire.Worker) bool {
	o := r.worker
	if o.Address != w.Address || o.Stage != w.Stage || o.Generation != w.Generation ||
		o.Version != w.Version || o.Healthy != w.Healthy || o.Draining != w.Draining || o.Aborts != w.Aborts || r.recoveries != w.Recoveries {
		return false
	}
	if o.Ranks != int(w.Ranks) || o.InputIDs != w.InputIDs {
		return false
	}
	return slices.Equal(o.Models, w.Models) && slices.Equal(o.Services, w.Services) && slices.Equal(o.Adapters, w.Adapters)
}

func (f *Fleet) applyStates(reply *wire.SyncReply, now core.Instant) {
	if reply.Full {
		for _, r := range f.rows {
			r.others, r.hasReport = 0, false
		}
	}
	for i := range reply.States {
		s := &reply.States[i]
		r := f.rows[s.ID]
		if r == nil || r.worker.Generation != s.Generation {
			continue
		}
		r.others = uint64(s.OthersInflight)
		r.hasReport = s.HasReport
		if !s.HasReport {
			continue
		}
		r.report = s.Report
		if rate := r.report.PrefillRate; !(rate > 0) || math.IsInf(rate, 0) {
			r.report.PrefillRate = 0
		}
		age := core.Instant(min(s.AgeMillis, math.MaxInt32))
		r.reported(now - age)
	}
}

// reported notes when the report was taken and counts anew which charges it
// cannot know.
func (r *row) reported(at core.Instant) {
	r.reportAt, r.since = at, 0
	for c := r.open; c != nil; c = c.next {
		if c.at >= at {
			r.since++
		}
	}
}
