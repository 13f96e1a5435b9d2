package kvindex_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

const benchBlocks = 6250 // 100,000 tokens in blocks of 16

func someTokens(n int, seed uint64) []uint32 {
	random := rand.New(rand.NewPCG(seed, 1))
	list := make([]uint32, n)
	for i := range list {
		list[i] = random.Uint32N(150_000)
	}
	return list
}

// stored is an event of a whole prompt from its start.
func stored(tokens []uint32, size int, seed uint64) *kvevents.Event {
	e := &kvevents.Event{Kind: kvevents.KindStored, Tokens: tokens, BlockSize: uint32(size)}
	for i := range len(tokens) / size {
		e.Hashes = append(e.Hashes, kvevents.Hash(seed*0x9E3779B97F4A7C15+uint64(i)*0xBF58476D1CE4E5B9+1))
	}
	return e
}

func benchOwner(i int) kvindex.Owner { return kvindex.Owner{Worker: fmt.Sprint("worker-", i)} }

// prefixOf is the first blocks of a stored event.
func prefixOf(e *kvevents.Event, blocks int) *kvevents.Event {
	c := *e
	c.Hashes, c.Tokens = e.Hashes[:blocks], e.Tokens[:blocks*int(e.BlockSize)]
	return &c
}

// scatter lets an owner hold everything, then a random half.
func scatter(x *kvindex.Index, o kvindex.Owner, e *kvevents.Event, seed uint64) {
	x.Apply(o, e)
	random := rand.New(rand.NewPCG(seed, 3))
	gone := &kvevents.Event{Kind: kvevents.KindRemoved}
	for _, h := range e.Hashes[1:] {
		if random.IntN(2) == 0 {
			gone.Hashes = append(gone.Hashes, h)
		}
	}
	x.Apply(o, gone)
}

// BenchmarkIndex_match walks 6,250 blocks over 100 owners, hashing apart: "equal",
// all hold everything; "steps", each holds a hundredth more than the one before;
// "gaps", each lacks a random twentieth and then nothing but its first blocks count;
// "tiers", blocks in turn on device and host for half the owners, so that the set of
// holders changes at every block; "distinct", 30 more owners hold a random half of the
// later blocks each, so that no two blocks have the same set: the worst case.
func BenchmarkIndex_match(b *testing.B) {
	tokens := someTokens(benchBlocks*16+1, 1)
	whole := stored(tokens[:benchBlocks*16], 16, 1)
	for name, fill := range map[string]func(*kvindex.Index, int){
		"equal": func(x *kvindex.Index, i int) { x.Apply(benchOwner(i), whole) },
		"steps": func(x *kvindex.Index, i int) {
			x.Apply(benchOwner(i), prefixOf(whole, benchBlocks*(i+1)/100))
		},
		"gaps": func(x *kvindex.Index, i int) {
			x.Apply(benchOwner(i), whole)
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for range benchBlocks / 20 {
				x.Apply(benchOwner(i), &kvevents.Event{Kind: kvevents.KindRemoved, Hashes: whole.Hashes[random.IntN(benchBlocks):][:1]})
			}
		},
		"tiers": func(x *kvindex.Index, i int) {
			x.Apply(benchOwner(i), whole)
			host := &kvevents.Event{Kind: kvevents.KindStored, Tier: kvevents.TierHost}
			for j := i % 2; j < benchBlocks; j += 2 {
				host.Hashes = append(host.Hashes, whole.Hashes[j])
			}
			x.Apply(benchOwner(i), host)
		},
		"distinct": func(x *kvindex.Index, i int) {
			x.Apply(benchOwner(i), whole)
			if i < 30 {
				scatter(x, benchOwner(1000+i), whole, uint64(i))
			}
		},
	} {
		x := kvindex.New(kvindex.Config{Seed: 1})
		for i := range 100 {
			fill(x, i)
		}
		var r kvindex.Result
		p := kvindex.Prompt{Tokens: tokens}
		x.Match(p, &r)
		b.Run("walk/"+name, func(b *testing.B) {
			x.Hashes(p, &r)
			b.ReportAllocs()
			for b.Loop() {
				x.MatchHashes(&r)
			}
		})
		b.Run("whole/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Match(p, &r)
			}
		})
	}
}

// BenchmarkIndex_matchScattered walks a chain whose blocks came one by one between
// those of 63 others, so that they lie apart in memory.
func BenchmarkIndex_matchScattered(b *testing.B) {
	x := kvindex.New(kvindex.Config{Seed: 1})
	head := someTokens(16, 1)
	var all []*kvevents.Event
	var prompts []kvindex.Prompt
	for c := range 64 {
		tokens := slices.Concat(head, someTokens((benchBlocks-1)*16+1, uint64(c)+2))
		e := stored(tokens[:benchBlocks*16], 16, uint64(c)+2)
		e.Hashes[0] = 99
		all = append(all, e)
		prompts = append(prompts, kvindex.Prompt{Tokens: tokens})
	}
	for i := range benchBlocks {
		for c, e := range all {
			one := prefixOf(e, 1)
			one.Hashes, one.Tokens = e.Hashes[i:i+1], e.Tokens[i*16:(i+1)*16]
			if i > 0 {
				one.Parent, one.HasParent = e.Hashes[i-1], true
			}
			x.Apply(benchOwner(c), one)
		}
	}
	var r kvindex.Result
	for b.Loop() {
		for _, p := range prompts[:8] {
			x.Hashes(p, &r)
			x.MatchHashes(&r)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8/1000, "us/prompt-with-hashing")
}

// BenchmarkIndex_ingest stores and removes prompts of 64 blocks of 16 tokens, at a
// steady size, vLLM's way: one removal event per hash.
func BenchmarkIndex_ingest(b *testing.B) {
	for _, resident := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("resident=", resident), func(b *testing.B) {
			const blocks = 64
			x := kvindex.New(kvindex.Config{Seed: 1})
			var ring []*kvevents.Event
			for i := range resident/blocks + 1 {
				ring = append(ring, stored(someTokens(blocks*16, uint64(i)), 16, uint64(i)))
				x.Apply(benchOwner(i%10), ring[i])
			}
			gone := &kvevents.Event{Kind: kvevents.KindRemoved, Hashes: make([]kvevents.Hash, 1)}
			var store, remove time.Duration
			n := 0
			for b.Loop() {
				i := n % len(ring)
				o := benchOwner(i % 10)
				t0 := time.Now()
				for _, h := range slices.Backward(ring[i].Hashes) {
					gone.Hashes[0] = h
					x.Apply(o, gone)
				}
				t1 := time.Now()
				x.Apply(o, ring[i])
				remove, store = remove+t1.Sub(t0), store+time.Since(t1)
				n++
			}
			count := float64(n * blocks)
			b.ReportMetric(count/store.Seconds()/1e6, "Mstored/s")
			b.ReportMetric(count/remove.Seconds()/1e6, "Mremoved/s")
		})
	}
}

// BenchmarkIndex_bytes measures the heap for a million blocks, one holder each, and
// what is left of it after all are removed.
func BenchmarkIndex_bytes(b *testing.B) {
	for b.Loop() {
		const blocks, engines = 1000, 1000
		before := heap()
		x := kvindex.New(kvindex.Config{Seed: 1})
		for i := range engines {
			x.Apply(benchOwner(i), stored(someTokens(blocks*16, uint64(i)), 16, uint64(i)))
		}
		full := heap()
		s := x.Stats()
		require.EqualValues(b, blocks*engines, s.Nodes)
		for i := range engines {
			x.RemoveWorker(benchOwner(i).Worker)
		}
		empty := heap()
		runtime.KeepAlive(x)
		b.ReportMetric(float64(full-before)/float64(s.Nodes), "B/block")
		b.ReportMetric(float64(s.Bytes)/float64(s.Nodes), "accountedB/block")
		b.ReportMetric(float64(empty-before)/1000, "kB-after")
	}
}

// BenchmarkIndex_bytesShared is the same for 1,000 blocks that 1,000 engines hold.
func BenchmarkIndex_bytesShared(b *testing.B) {
	for b.Loop() {
		before := heap()
		x := kvindex.New(kvindex.Config{Seed: 1})
		e := stored(someTokens(1000*16, 1), 16, 1)
		for i := range 1000 {
			x.Apply(benchOwner(i), e)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "B/holding")
		b.ReportMetric(float64(x.Stats().Bytes)/1e6, "accountedB/holding")
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
