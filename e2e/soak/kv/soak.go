package kv

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/e2e/soak"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// Options say what to run.
type Options struct {
	Engines  int
	Blocks   int           // per engine
	Budget   int64         // bytes of the index; 0 is PerBlock for each block
	Duration time.Duration // of the churn, half of it with nothing written
	Rounds   int
	// ChurnEvery: of so many requests one restarts its engine first, one finds it removed
	// and back, and one empties it. At least 3.
	ChurnEvery int
	Seed       uint64
	Progress   io.Writer
}

// LeastBlocks is the longest prompt, and one for its end.
const LeastBlocks = sharedBlocks + turns*turnBlocks + 1

// PerBlock is design section 9's target for the bytes of a block.
const PerBlock = 100

// Tally counts what was done and found.
type Tally struct {
	Requests, Batches, Undecoded, NoRoom int
	Moved                                int64 // blocks stored or removed
	Wire                                 int64 // bytes
	Restarts, Removals, Clears           int
	Exact, Forgotten, Unannounced, Wrong int
}

// Report is what a run found.
type Report struct {
	Options
	Tally
	Filled, End kvindex.Stats // when all caches were full; when all engines were gone
	MostBytes   int64         // that the index accounted for
	Heap        []soak.Point  // of the whole process, bytes after a collection, by request
	// Quiet and Busy are the median time of a lookup in each round, microseconds; the P99
	// series alike.
	Quiet, Busy, QuietP99, BusyP99 table.Series
	Ingest                         table.Series // blocks a second and round, all this program's work included
	Elapsed                        time.Duration
}

// Run runs. It ends early with ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Budget == 0 {
		o.Budget = PerBlock * int64(o.Engines) * int64(o.Blocks)
	}
	start := time.Now()
	index := kvindex.New(kvindex.Config{Seed: o.Seed, Budget: o.Budget})
	f := newFleet(o, index)
	f.fill()
	r := &Report{Options: o, Filled: index.Stats()}
	for round := range o.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted in round %d: %w", round+1, err)
		}
		r.round(f, o.Duration/time.Duration(2*o.Rounds))
		fmt.Fprintf(o.Progress, "round %d of %d: lookup %.0f us quiet, %.0f us busy, %.2f M blocks/s, %.1f of %.1f MB\n",
			round+1, o.Rounds, last(r.Quiet), last(r.Busy), last(r.Ingest)/1e6, float64(index.Stats().Bytes)/1e6, float64(o.Budget)/1e6)
	}
	f.end()
	r.Tally, r.End, r.Elapsed = f.tally, index.Stats().Held(), time.Since(start)
	return r, nil
}

func last(s table.Series) float64 { return s[len(s)-1] }

// round looks up for a while with nothing written, then with events.
func (r *Report) round(f *fleet, each time.Duration) {
	prompts := f.recent()
	quiet := lookups(f.index, prompts, func() { <-time.After(each) })
	before, began := f.tally.Moved, time.Now()
	busy := lookups(f.index, prompts, func() {
		for time.Since(began) < each {
			f.step()
			r.MostBytes = max(r.MostBytes, f.index.Stats().Bytes)
		}
	})
	r.Ingest = append(r.Ingest, float64(f.tally.Moved-before)/time.Since(began).Seconds())
	r.Quiet, r.QuietP99 = append(r.Quiet, quiet.Median()), append(r.QuietP99, quiet.Quantile(0.99))
	r.Busy, r.BusyP99 = append(r.Busy, busy.Median()), append(r.BusyP99, busy.Quantile(0.99))
	r.Heap = append(r.Heap, soak.Point{Requests: f.tally.Requests, Value: heap()})
}

// recent are prompts as they are under way: the next turn of some conversations.
func (f *fleet) recent() (list []kvindex.Prompt) {
	const some = 512
	for range some {
		e := f.engines[f.random.IntN(len(f.engines))]
		list = append(list, kvindex.Prompt{Tokens: e.talks[f.random.IntN(sessions)].prompt()})
	}
	return list
}

// lookups times lookups beside some work until that is done, in microseconds.
func lookups(index *kvindex.Index, prompts []kvindex.Prompt, work func()) (times table.Series) {
	const kept = 1 << 20
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		var result kvindex.Result
		for i := 0; !over.Load(); i++ {
			start := time.Now()
			index.Match(prompts[i%len(prompts)], &result)
			if len(times) < kept {
				times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
			}
		}
	})
	work()
	over.Store(true)
	wg.Wait()
	return times
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
