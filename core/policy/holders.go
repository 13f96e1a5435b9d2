package policy

import (
	"cmp"
	"math/bits"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// hit is one engine that holds enough of the prompt, before it is known whether
// it is among the best.
type hit struct {
	at      int // of the candidates
	matched uint64
}

// gather makes holders the engines that hold enough of the prompt, best first,
// and no more than are looked at (engine-selection.md 9.4). The cap comes before
// admission.
func (p *CacheAware) gather(engines []*core.Worker, req *core.PickRequest) {
	p.hits, p.shares, p.grade = p.hits[:0], p.shares[:0], grade{}
	if !p.found() {
		return
	}
	var all pressure.Set
	if p.lookup.Holders == nil {
		for i, w := range engines {
			p.weigh(&all, i, w, p.prefixes.Depth(p.caching.Source, w), req)
		}
	}
	for at, w := range p.lookup.Holders {
		i, found := placeOf(engines, w)
		if !found {
			continue
		}
		depth := p.lookup.Depths[at]
		if engines[i] != w { // it may be another life of the engine
			depth = p.prefixes.Depth(p.caching.Source, engines[i])
		}
		p.weigh(&all, i, engines[i], depth, req)
	}
	p.keep(engines, req, all, p.caching.candidates(len(engines)))
}

// placeOf finds an engine among the candidates. A fleet's slots are most often in
// the order of its IDs, so where few are missing it is found without a search.
func placeOf(engines []*core.Worker, w *core.Worker) (int, bool) {
	if w.Slot < len(engines) {
		if e := engines[w.Slot]; e == w || e.Slot == w.Slot && e.ID == w.ID {
			return w.Slot, true
		}
	}
	return core.FindWorker(engines, w.ID)
}

// weigh takes an engine for a hit, or for one of what many prompts share, if it
// holds enough.
func (p *CacheAware) weigh(all *pressure.Set, at int, w *core.Worker, depth uint64, req *core.PickRequest) {
	if depth == 0 {
		return
	}
	if depth != p.grade.depth {
		p.grade = p.gradeOf(depth, req.Input)
	}
	switch {
	case !p.grade.enough:
	case p.grade.counts:
		p.add(all, w, req.Now)
		p.hits = append(p.hits, hit{at, p.grade.matched})
	default:
		p.shares = append(p.shares, hit{at, p.grade.matched})
	}
}

func (p *CacheAware) gradeOf(depth, input uint64) grade {
	g := grade{depth: depth, matched: held(input, depth, p.lookup.Blocks)}
	g.enough = p.enough(g.matched, input)
	g.counts = g.enough && p.enough(p.counted(g.matched, input, depth), input)
	return g
}

// add takes an engine into a set. It reads reports while they still matter, and
// no requests in flight, which say nothing of what the set compares by.
func (p *CacheAware) add(set *pressure.Set, w *core.Worker, now core.Instant) {
	if set.Source() == pressure.SourceInflight {
		return
	}
	var side pressure.Side
	if report, fresh := p.loads.Report(w, now); fresh {
		side.Report = report
	}
	set.Add(side)
}

// enough applies the thresholds; both are met at equality.
func (p *CacheAware) enough(matched, input uint64) bool {
	return matched >= p.caching.MinMatchedTokens &&
		(p.caching.MinMatchRatio == 0 || float64(matched)/float64(max(input, 1)) >= p.caching.MinMatchRatio)
}

// held is how many of the prompt's tokens an engine holds: its share of the
// query's blocks, so that a query that was cut short gives a lower bound, and
// more blocks than were asked about count as all.
func held(input, depth, query uint64) uint64 {
	high, low := bits.Mul64(input, min(depth, query))
	if high == 0 {
		return low / query
	}
	matched, _ := bits.Div64(high, low, query) // high < query, since depth is capped
	return matched
}

// keep makes holders the first n hits of the rank order, in that order. Its heap
// has the worst of them on top, so most of a thousand holders of one prompt cost
// one comparison each.
func (p *CacheAware) keep(engines []*core.Worker, req *core.PickRequest, all pressure.Set, n int) {
	for _, h := range p.hits {
		uncached := req.Input - h.matched
		if len(p.holders) == n && uncached > p.holders[0].uncached {
			continue
		}
		w := engines[h.at]
		next := holder{w, p.observe(w, req.Now), h.matched, uncached}
		switch {
		case len(p.holders) < n:
			p.holders = append(p.holders, next)
			rise(all, p.holders)
		case rank(all, &next, &p.holders[0]) < 0:
			p.holders[0] = next
			sink(all, p.holders)
		}
	}
	for last := len(p.holders) - 1; last > 0; last-- {
		p.holders[0], p.holders[last] = p.holders[last], p.holders[0]
		sink(all, p.holders[:last])
	}
}

// rank orders holders of a set: less to compute, then less pressure, then ID.
func rank(set pressure.Set, a, b *holder) int {
	if order := cmp.Compare(a.uncached, b.uncached); order != 0 {
		return order
	}
	if order := set.Compare(a.side, b.side); order != 0 {
		return order
	}
	return cmp.Compare(a.worker.ID, b.worker.ID)
}

// rise restores the heap above its last element.
func rise(set pressure.Set, heap []holder) {
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if rank(set, &heap[i], &heap[parent]) <= 0 {
			return
		}
		heap[i], heap[parent] = heap[parent], heap[i]
		i = parent
	}
}

// sink restores the heap below its top.
func sink(set pressure.Set, heap []holder) {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if rank(set, &heap[child], &heap[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}
