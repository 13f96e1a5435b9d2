package kvindex_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// looks is a clock that goes on by a second with every look at it, so that uses have
// an order whatever the machine is busy with.
func looks() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return time.Unix(n.Add(1), 0) }
}

// Readers beside writers that store, remove, clear, evict and renumber owners. One
// engine keeps a prefix all along, in use so often that no eviction takes it: every
// reader sees it whole.
func TestIndex_readersBesideWriters(t *testing.T) {
	x := kvindex.New(kvindex.Config{Seed: 1, Budget: 60_000, PendingTTL: time.Minute, Now: looks()})
	steady := kvindex.Owner{Worker: "steady"}
	kept := blocks(0, 20)
	x.Apply(steady, &kept)
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() { readSteadily(t, x, steady, stop) })
	}
	for w := range 2 {
		writers.Go(func() { writeHistory(x, uint64(w)) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.NoError(t, x.Sane())
	for _, w := range []string{"one", "two", "collapsed", "steady"} {
		x.RemoveWorker(w)
	}
	require.NoError(t, x.Sane())
	held := x.Stats().Held()
	held.Pending = 0
	require.Equal(t, kvindex.Stats{}, held)
}

func readSteadily(t *testing.T, x *kvindex.Index, steady kvindex.Owner, stop chan struct{}) {
	var r kvindex.Result
	var occupancy []kvindex.Occupancy
	for {
		select {
		case <-stop:
			return
		default:
		}
		x.Match(text(321), &r)
		found := 0
		for _, m := range r.Matches {
			if m.Owner == steady {
				found = m.Tokens
			}
		}
		if found != 320 {
			t.Errorf("the steady engine has %d tokens", found)
			return
		}
		occupancy = x.Occupancies(occupancy[:0])
		x.Credit(steady, text(40))
		x.Stats()
		x.Dump(nil, 10)
	}
}

func writeHistory(x *kvindex.Index, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	h := newHistory(random.IntN)
	var r kvindex.Result
	for i := range 3000 {
		// Readers may not come to run for a while, and the prefix must stay in use.
		x.Match(text(321), &r)
		h.next().index(x)
		if i%3 == 0 {
			_, e := other(random.IntN(40), 20)
			x.Apply(kvindex.Owner{Worker: "two", Rank: uint32(seed)}, &e)
		}
		if i%20 == 0 {
			for _, o := range []string{"one", "collapsed"} {
				e := blocks(0, 1+random.IntN(20))
				x.Apply(kvindex.Owner{Worker: o}, &e)
			}
		}
	}
}
