package board_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// mirror is the fleet as a context pieces it together from replies.
type mirror struct {
	replica, version, seq uint64
	workers               map[core.WorkerID]wire.Worker
	states                map[core.WorkerID]wire.WorkerState
}

func (m *mirror) apply(r *wire.SyncReply) {
	if r.Full {
		m.workers, m.states = map[core.WorkerID]wire.Worker{}, map[core.WorkerID]wire.WorkerState{}
	}
	m.replica, m.version = r.Replica, r.Version
	for _, id := range r.Removed {
		delete(m.workers, id)
		delete(m.states, id)
	}
	for _, w := range r.Workers {
		m.workers[w.ID] = w
	}
	for _, s := range r.States {
		m.states[s.ID] = s
	}
}

// A context that follows deltas, some of which are lost, knows what one that
// asks for everything knows.
func TestBoard_deltasAddUpToTheWhole(t *testing.T) {
	names := []core.WorkerID{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		m := &mirror{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			id := rapid.SampledFrom(names).Draw(t, "worker")
			generation := rapid.Uint64Range(1, 3).Draw(t, "generation")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				s.Describe(worker(id, generation), generation)
			case 1:
				s.Remove(id)
			case 2:
				s.Report(id, generation, core.LoadReport{Running: core.Known(generation)}, s.now)
			case 3:
				s.now += core.Instant(rapid.IntRange(0, 3000).Draw(t, "wait"))
			case 4:
				_, _ = s.Sync(&wire.SyncRequest{
					Context: 2, Seq: rapid.Uint64Range(1, 99).Draw(t, "seq"),
					Workers: []wire.WorkerGauge{held(id, generation, 1)},
				})
			case 5:
				m.seq++
				reply, err := s.Sync(&wire.SyncRequest{Context: 1, Seq: m.seq, Replica: m.replica, Version: m.version})
				if err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "arrives") {
					m.apply(reply)
				}
			}
		}
		m.seq++
		reply, _ := s.Sync(&wire.SyncRequest{Context: 1, Seq: m.seq, Replica: m.replica, Version: m.version})
		m.apply(reply)
		whole := &mirror{seq: m.seq}
		reply, _ = s.Sync(&wire.SyncRequest{Context: 1, Seq: m.seq})
		whole.apply(reply)
		ages := cmpopts.IgnoreFields(wire.WorkerState{}, "AgeMillis")
		if diff := cmp.Diff(whole, m, cmp.AllowUnexported(mirror{}), ages); diff != "" {
			t.Fatal(diff)
		}
	})
}

func realBoard(contexts int) *board.Board {
	began := time.Now()
	return board.New(board.Options{
		Replica: replica, Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) },
		Gauges:    gauges.Limits{Contexts: contexts, Gauges: 1 << 20, Expiry: 1500},
		Freshness: 5000, Tombstones: 16,
	})
}

// The sweeper alone, woken by the spans it is told, drops a silent context at
// its very instant.
func TestBoard_sweeperIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := realBoard(4)
		b.Describe(worker("a", 1), 0)
		done, swept := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(swept)
			for {
				select {
				case <-time.After(time.Duration(b.Sweep(750)) * time.Millisecond):
				case <-done:
					return
				}
			}
		}()
		time.Sleep(300 * time.Millisecond)
		_, err := b.Sync(&wire.SyncRequest{Context: 1, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 2)}})
		require.NoError(t, err)
		time.Sleep(1499 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, b.Workers()[0].Inflight)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Zero(t, b.Workers()[0].Inflight)
		close(done)
		<-swept
	})
}

func TestBoard_hammer(t *testing.T) {
	const goroutines, rounds = 8, 1000
	b := realBoard(goroutines)
	for i := range 4 {
		b.Describe(worker(core.WorkerID(fmt.Sprint(i)), 1), 0)
	}
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			m := &mirror{}
			for seq := uint64(1); seq <= rounds; seq++ {
				id := core.WorkerID(fmt.Sprint(random.IntN(4)))
				switch random.IntN(4) {
				case 0:
					b.Report(id, 1, core.LoadReport{}, 0)
				case 1:
					b.Workers()
				}
				reply, err := b.Sync(&wire.SyncRequest{
					Context: uint64(g + 1), Seq: seq, Replica: m.replica, Version: m.version,
					Workers: []wire.WorkerGauge{held(id, 1, uint32(seq%7))},
				})
				if err != nil {
					t.Error(err)
					return
				}
				m.apply(reply)
			}
		})
	}
	all.Wait()
	total := uint64(0)
	for _, w := range b.Workers() {
		total += w.Inflight
	}
	require.EqualValues(t, goroutines*(rounds%7), total, "the last report of each context, nothing else")
}

// One sync of a context that reports on every worker, in a fleet whose rows all
// changed since, by the number of other contexts: the cost must not grow.
func BenchmarkBoard_Sync(b *testing.B) {
	for _, contexts := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("workers=1000/contexts=%d", contexts), func(b *testing.B) {
			board := realBoard(contexts)
			list := make([]wire.WorkerGauge, 1000)
			for i := range list {
				id := core.WorkerID(fmt.Sprintf("worker-%04d", i))
				board.Describe(worker(id, 1), 0)
				list[i] = held(id, 1, 1)
			}
			seqs := make([]uint64, contexts)
			version := uint64(0)
			for n := 0; b.Loop(); n++ {
				c := n % contexts
				seqs[c]++
				for i := range list {
					list[i].Inflight = uint32(1 + n%5)
				}
				reply, err := board.Sync(&wire.SyncRequest{Context: uint64(c + 1), Seq: seqs[c], Replica: replica, Version: version, Workers: list})
				require.NoError(b, err)
				version = reply.Version
			}
		})
	}
}
