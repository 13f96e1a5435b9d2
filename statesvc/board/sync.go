package board

import (
	"errors"
	"math"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/gauges"
)

// SyncCounts counts syncs by what became of them, since the board was made.
type SyncCounts struct {
	Applied         uint64
	Stale           uint64 // not newer than the last applied report
	Idle            uint64 // a context without streams: nothing to apply
	RefusedContexts uint64
	RefusedGauges   uint64
	Full            uint64 // replies that listed the whole fleet
	Delta           uint64
}

// Sync applies a context's report and answers it. The request must be valid:
// a context key and a sequence number above zero, no worker named twice. A
// report that is refused by a limit is gauges.ErrTooManyContexts or
// gauges.ErrTooManyGauges and changes nothing.
func (b *Board) Sync(r *wire.SyncRequest) (*wire.SyncReply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	b.expire(now)
	if err := b.apply(now, r); err != nil {
		return nil, err
	}
	return b.reply(now, r), nil
}

func (b *Board) apply(now core.Instant, r *wire.SyncRequest) error {
	if r.Idle {
		b.syncs.Idle++
		return nil
	}
	next, moved := b.version+1, false
	applied, err := b.book.Apply(now, r, b.life, func(l *gauges.Life) {
		moved = b.touch(l, next) || moved
	})
	if moved {
		b.version = next
	}
	switch {
	case errors.Is(err, gauges.ErrTooManyContexts):
		b.syncs.RefusedContexts++
	case err != nil:
		b.syncs.RefusedGauges++
	case applied:
		b.syncs.Applied++
	default:
		b.syncs.Stale++
	}
	return err
}

func (b *Board) life(id core.WorkerID) *gauges.Life {
	if r := b.rows[id]; r != nil {
		return r.life
	}
	return nil
}

// reply lists what changed since the version that the context names, or
// everything when that version is not one of this board's remembered past.
func (b *Board) reply(now core.Instant, r *wire.SyncRequest) *wire.SyncReply {
	since := r.Version
	full := r.Replica != b.replica || since == 0 || since > b.version || !b.graves.covers(since)
	reply := &wire.SyncReply{Replica: b.replica, Version: b.version, Full: full, Seq: r.Seq}
	if full {
		since = 0
		b.syncs.Full++
	} else {
		b.syncs.Delta++
		reply.Removed = b.removed(since)
	}
	described, loaded := b.countSince(since)
	reply.Workers = make([]wire.Worker, 0, described)
	reply.States = make([]wire.WorkerState, 0, loaded)
	for _, row := range b.sorted {
		if row.described > since {
			reply.Workers = append(reply.Workers, row.wireWorker())
		}
		if row.loaded > since {
			reply.States = append(reply.States, b.wireState(row, now, r.Context))
		}
	}
	return reply
}

func (b *Board) countSince(since uint64) (described, loaded int) {
	for _, row := range b.sorted {
		if row.described > since {
			described++
		}
		if row.loaded > since {
			loaded++
		}
	}
	return described, loaded
}

// removed names the workers that left after the version and did not return.
func (b *Board) removed(since uint64) []core.WorkerID {
	var ids []core.WorkerID
	for _, g := range b.graves.graves {
		if g.version > since && b.rows[g.id] == nil {
			ids = append(ids, g.id)
		}
	}
	return ids
}

func (r *row) wireWorker() wire.Worker {
	w := &r.worker
	return wire.Worker{
		ID: w.ID, Address: w.Address, Models: w.Models, Adapters: w.Adapters, Stage: w.Stage, Version: w.Version,
		Services: w.Services, Generation: w.Generation, Healthy: w.Healthy, Draining: w.Draining, Aborts: w.Aborts,
		Ranks: uint32(w.Ranks), InputIDs: w.InputIDs, Recoveries: r.recoveries,
	}
}

// wireState is the worker's load as the context sees it: the total without its
// own part.
func (b *Board) wireState(r *row, now core.Instant, context uint64) wire.WorkerState {
	others := r.life.Inflight() - uint64(b.book.Own(context, r.life))
	s := wire.WorkerState{
		ID: r.worker.ID, Generation: r.life.Generation,
		OthersInflight: uint32(min(others, math.MaxUint32)),
	}
	if reading, fresh := b.loads.Get(r.worker.ID, now); fresh {
		s.HasReport = true
		s.AgeMillis = uint64(max(now-reading.At, 0))
		s.Report = reading.Report
	}
	return s
}
