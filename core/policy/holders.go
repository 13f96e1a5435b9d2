package policy

import (
	"cmp"
	"math/bits"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// gather makes holders the engines that hold enough of the prompt, best first,
// and no more than are looked at (engine-selection.md 9.4). The cap comes before
// admission.
func (p *CacheAware) gather(engines []*core.Worker, req *core.PickRequest) {
	if !p.hit() {
		return
	}
	var all pressure.Set
	for _, w := range engines {
		depth := p.prefixes.Depth(p.caching.Source, w)
		if depth == 0 {
			continue
		}
		matched := held(req.Input, depth, p.lookup.Blocks)
		if !p.enough(matched, req.Input) {
			continue
		}
		side := p.observe(w, req.Now)
		all.Add(side)
		p.holders = append(p.holders, holder{w, side, matched, req.Input - matched})
	}
	kept := best(all, p.holders, p.caching.candidates(len(engines)))
	clear(p.holders[kept:])
	p.holders = p.holders[:kept]
}

// enough applies the thresholds; both are met at equality.
func (p *CacheAware) enough(matched, input uint64) bool {
	return matched >= p.caching.MinMatchedTokens &&
		float64(matched)/float64(max(input, 1)) >= p.caching.MinMatchRatio
}

// held is how many of the prompt's tokens an engine holds: its share of the
// query's blocks, so that a query that was cut short gives a lower bound, and
// more blocks than were asked about count as all.
func held(input, depth, query uint64) uint64 {
	high, low := bits.Mul64(input, min(depth, query))
	matched, _ := bits.Div64(high, low, query) // high < query, since depth is capped
	return matched
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

// best moves the first n holders of the rank order to the front, in that order,
// and gives their number. Its heap has the worst of them on top, so most of a
// thousand holders of one shared prompt cost one comparison each.
func best(set pressure.Set, all []holder, n int) int {
	top := all[:min(n, len(all))]
	for i := len(top)/2 - 1; i >= 0; i-- {
		sink(set, top, i)
	}
	for i := len(top); i < len(all); i++ {
		if rank(set, &all[i], &top[0]) < 0 {
			top[0] = all[i]
			sink(set, top, 0)
		}
	}
	for last := len(top) - 1; last > 0; last-- {
		top[0], top[last] = top[last], top[0]
		sink(set, top[:last], 0)
	}
	return len(top)
}

// sink restores the heap below i.
func sink(set pressure.Set, heap []holder, i int) {
	for {
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
