package history_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
)

// BenchmarkRequest is what one request costs: the path of its prompt, a lookup,
// the depth of each engine, and its entry. Prompts are chats of a shared system
// prompt and 4 KB turns.
func BenchmarkRequest(b *testing.B) {
	for _, workers := range []int{8, 1000} {
		for _, kb := range []int{4, 16, 128} {
			b.Run(fmt.Sprintf("workers=%d/prompt=%dKB", workers, kb), func(b *testing.B) {
				benchmark(b, workers, kb)
			})
		}
	}
}

func benchmark(b *testing.B, workers, kb int) {
	table, engines := history.New(0), make([]*core.Worker, workers)
	for i := range engines {
		engines[i] = engine(i)
	}
	system, turns := text("system", 2048), make([]string, 200)
	for i := range turns {
		turns[i] = text(fmt.Sprintf("turn %d", i), 4096-2048/max(kb/4, 1))
	}
	p, sum := &history.Path{}, uint64(0)
	b.ReportAllocs()
	b.SetBytes(int64(kb) << 10)
	for i := 0; b.Loop(); i++ {
		p.Reset(&ns)
		p.Message(system, false)
		for t := range kb / 4 {
			p.Message(turns[(i+t)%len(turns)], t%2 == 1)
		}
		table.Lookup(p, 0)
		for _, w := range engines {
			sum += table.Depth(w)
		}
		table.Enter(engines[i%workers], p, core.Known(1_000_000))
	}
	b.ReportMetric(float64(table.Bytes())/float64(max(table.Entries(), 1)), "bytes/entry")
}

// What laying over the index costs for each request: its path, a lookup, an entry.
func BenchmarkPending(b *testing.B) {
	for _, size := range []int{4 << 10, 16 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			p, w, path := history.NewPending(5000), engine(0), &history.Path{}
			prompt := text("word", size)
			b.ReportAllocs()
			for now := core.Instant(0); b.Loop(); now++ {
				path.Reset(&ns)
				path.Message(prompt, false)
				p.Lookup(path, now)
				p.Enter(w, path, now)
			}
		})
	}
}
