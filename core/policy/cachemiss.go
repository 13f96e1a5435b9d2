package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// miss goes by pressure alone (engine-selection.md 9.6), among the engines
// without a queue when there are any. Admission is asked about the one chosen.
func (p *CacheAware) miss(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	pool, allQueued := p.unqueued(engines, req.Now)
	if len(pool) > 1 && req.Rand == nil {
		return core.Pick{}, noRandomSource(p.Name())
	}
	if p.caching.Private {
		p.busy = p.meanOf(engines, req.Rand)
		if sharing := p.sharing(engines, req.Now); len(sharing) > 0 {
			if pick, found, err := p.share(sharing, req); found {
				return pick, err
			}
		}
	}
	w, side := p.sampled(pool, req)
	pick := core.Pick{Worker: w, Reason: p.missReason(), Matched: p.heldBy(w, req.Input), Cache: p.missDecision(allQueued)}
	if pick.Cache == core.CacheWorkerQueued {
		pick.Diverted = p.gated[0].matched // the best of them: they are in rank order
	}
	return p.check(pick, side, req)
}

// sampled chooses by pressure from a sample, or from all where they are no more.
func (p *CacheAware) sampled(pool []*core.Worker, req *core.PickRequest) (*core.Worker, pressure.Side) {
	if p.caching.Private || p.caching.MinLoadChoices < len(pool) {
		return p.spread(pool, req)
	}
	return p.least(pool, req)
}

// unqueued lists the engines that the queue gate leaves, all of them when it
// leaves none.
func (p *CacheAware) unqueued(engines []*core.Worker, now core.Instant) (pool []*core.Worker, allQueued bool) {
	if p.caching.WorkerQueueLimit == 0 {
		return engines, false
	}
	for _, w := range engines {
		if !p.queued(w, now) {
			p.pool = append(p.pool, w)
		}
	}
	if len(p.pool) == 0 {
		return engines, true
	}
	return p.pool, false
}

// least finds the engine under the least pressure of all, one of them at random
// when several are. It compares as a set, since pairs need not be in order.
func (p *CacheAware) least(pool []*core.Worker, req *core.PickRequest) (winner *core.Worker, load pressure.Side) {
	var set pressure.Set
	for _, w := range pool {
		p.add(&set, w, req.Now)
	}
	ties := 0
	for _, w := range pool {
		side := p.observe(w, req.Now)
		order := -1
		if winner != nil {
			order = set.Compare(side, load)
		}
		switch {
		case order < 0:
			winner, load, ties = w, side, 1
		case order == 0:
			if ties++; req.Rand.IntN(ties) == 0 {
				winner, load = w, side
			}
		}
	}
	return winner, load
}

func (p *CacheAware) missReason() core.Reason {
	if p.lookup.Outcome == LookupUnavailable {
		return core.ReasonCacheUnavailable
	}
	return core.ReasonNoCacheCandidate
}

// missDecision tells engines with a queue, which the request was kept from, from
// engines that do not hold the prompt.
func (p *CacheAware) missDecision(allQueued bool) core.CacheDecision {
	switch {
	case len(p.gated) == 0:
		return core.CacheMiss
	case allQueued:
		return core.CacheAllQueued
	}
	return core.CacheWorkerQueued
}

// heldBy is what an engine holds of the prompt; unknown when nobody could be asked.
func (p *CacheAware) heldBy(w *core.Worker, input uint64) core.Count {
	switch {
	case p.lookup.Outcome == LookupUnavailable:
		return core.Count{}
	case !p.found():
		return core.Known(0)
	}
	return core.Known(held(input, p.prefixes.Depth(p.caching.Source, w), p.lookup.Blocks))
}
