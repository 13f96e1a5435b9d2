package kvindex_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// Memory comes back: after a clear, and after the removal of all workers, the heap is
// about what it was before. The bound is far below what the blocks took and far above
// what a test process allocates otherwise.
func TestIndex_heapReturnsToItsBaseline(t *testing.T) {
	const engines, chains, blocks = 10, 100, 100 // 100,000 blocks of different contents
	events := make([][]*kvevents.Event, engines)
	for i := range events {
		for j := range chains {
			_, e := other(i*chains+j, blocks)
			events[i] = append(events[i], &e)
		}
	}
	fill := func(x *kvindex.Index) {
		for i, list := range events {
			for _, e := range list {
				x.Apply(benchOwner(i), e)
			}
		}
	}
	for name, end := range map[string]func(x *kvindex.Index){
		"clear": func(x *kvindex.Index) {
			for i := range events {
				x.Apply(benchOwner(i), &kvevents.Event{Kind: kvevents.KindCleared})
			}
		},
		"reset": func(x *kvindex.Index) {
			for i := range events {
				x.Reset(benchOwner(i))
			}
		},
		"removal of the workers": func(x *kvindex.Index) {
			for i := range events {
				x.RemoveWorker(benchOwner(i).Worker)
			}
		},
		"removal of the blocks": func(x *kvindex.Index) {
			for i, list := range events {
				for _, e := range list {
					x.Apply(benchOwner(i), &kvevents.Event{Kind: kvevents.KindRemoved, Hashes: e.Hashes})
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := kvindex.New(kvindex.Config{Seed: 1, PendingTTL: time.Minute})
			before := heap()
			for range 2 { // a second time it is the same
				fill(x)
				for i := range engines {
					p, _ := other(i*chains, blocks)
					x.Credit(benchOwner(i), p)
				}
				filled := heap() - before
				require.Greater(t, filled, int64(engines*chains*blocks*40), "the blocks take memory")
				end(x)
				require.Zero(t, x.Stats().Nodes)
				require.Less(t, heap()-before, filled/10, "of %d bytes", filled)
			}
			runtime.KeepAlive(x)
		})
	}
	runtime.KeepAlive(events)
}
