package statesvc

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
)

// departures is the fleet's sink: the board, and behind it whatever else must forget an
// engine that left. What a store takes its time for is done in the background, so that
// no source waits for it; an engine that is back by then keeps its bindings.
type departures struct {
	*board.Board
	bindings affinity.Store
	history  interface{ Departed(worker core.WorkerID) } // set before run
	log      *slog.Logger
	wake     chan struct{} // holds one token when there is something to forget

	mu   sync.Mutex
	gone []core.WorkerID
}

func newDepartures(b *board.Board, bindings affinity.Store, log *slog.Logger) *departures {
	return &departures{Board: b, bindings: bindings, log: log, wake: make(chan struct{}, 1)}
}

// Remove implements fleet.Sink: contexts hear of it with their next sync.
func (d *departures) Remove(id core.WorkerID) {
	d.Board.Remove(id)
	d.mu.Lock()
	d.gone = append(d.gone, id)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run forgets until ctx ends.
func (d *departures) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		d.mu.Lock()
		gone := d.gone
		d.gone = nil
		d.mu.Unlock()
		for _, id := range gone {
			d.forget(ctx, id)
		}
	}
}

func (d *departures) forget(ctx context.Context, id core.WorkerID) {
	if d.Has(id) {
		return
	}
	d.history.Departed(id)
	n, err := d.bindings.Forget(ctx, id)
	switch {
	case err != nil:
		d.log.Warn("bindings to an engine that left are not removed; they end when they are idle", "worker", string(id), "error", err)
	case n > 0:
		d.log.Info("bindings to an engine that left are removed", "worker", string(id), "bindings", n)
	}
}
