package policy

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// resolve chooses among the holders (engine-selection.md 9.5): those without a
// queue first, those with one when the whole group is queued. found is false
// when there are none, or admission lets none through.
func (p *CacheAware) resolve(engines []*core.Worker, now core.Instant) (pick core.Pick, found bool) {
	p.split()
	open, reason, decision := p.holders, core.ReasonCacheCandidate, core.CacheHit
	if len(open) == 0 && p.saturated(engines, now) {
		open, reason, decision = p.gated, core.ReasonSaturationPin, core.CacheAllQueued
	}
	winner := p.choose(open)
	if winner == nil && p.pins(engines, now) {
		winner, reason, decision = p.leastPressed(), core.ReasonSaturationPin, core.CacheAllQueued
	}
	if winner == nil {
		return core.Pick{}, false
	}
	return core.Pick{Worker: winner.worker, Reason: reason, Matched: core.Known(winner.matched), Cache: decision, Guard: p.guard}, true
}

// split leaves the holders without a queue in holders; both parts keep the rank
// order.
func (p *CacheAware) split() {
	kept := 0
	for i := range p.holders {
		if h := &p.holders[i]; p.closed(h.side.Report) {
			p.gated = append(p.gated, *h)
		} else {
			p.holders[kept] = *h
			kept++
		}
	}
	clear(p.holders[kept:])
	p.holders = p.holders[:kept]
}

// saturated reports whether every engine of the group has a queue, so that
// keeping away from the holders' would gain nothing. With a floor the floor
// decides that instead.
func (p *CacheAware) saturated(engines []*core.Worker, now core.Instant) bool {
	return p.caching.SaturationQueueFloor == 0 && len(p.gated) > 0 && p.allQueued(engines, now)
}

// allQueued reports whether every engine is known to have a queue.
func (p *CacheAware) allQueued(engines []*core.Worker, now core.Instant) bool {
	for _, w := range engines {
		if !p.queued(w, now) {
			return false
		}
	}
	return true
}

// pins reports whether no engine of the group is known to be below the floor.
func (p *CacheAware) pins(engines []*core.Worker, now core.Instant) bool {
	floor := p.caching.SaturationQueueFloor
	if floor == 0 || len(p.gated) == 0 {
		return false
	}
	for _, w := range engines {
		if report, fresh := p.loads.Report(w, now); fresh && report.Waiting.Known && report.Waiting.N < floor {
			return false
		}
	}
	return true
}

// choose takes the admitted holder with the least to compute, or another one
// within the switch margin when the guard says so. open is in rank order.
func (p *CacheAware) choose(open []holder) (winner *holder) {
	var set pressure.Set
	for i := range open {
		set.Add(open[i].side)
	}
	var ceiling uint64
	for i := range open {
		candidate := &open[i]
		if !p.pass(candidate.worker, candidate.side) {
			continue
		}
		if winner == nil {
			winner, ceiling = candidate, plus(candidate.uncached, p.caching.SwitchMargin)
		} else if candidate.uncached <= ceiling && p.switches(set, winner, candidate) {
			winner = candidate
		}
	}
	return winner
}

// switches reports whether a candidate replaces the winner so far. The guard is
// asked only when all of the set have native reports, and about engines whose
// work differs by no more than the margin.
func (p *CacheAware) switches(set pressure.Set, winner, candidate *holder) bool {
	apart := max(winner.uncached, candidate.uncached) - min(winner.uncached, candidate.uncached)
	if g := p.caching.Guard; g != nil && set.Source() != pressure.SourceInflight && apart <= p.caching.SwitchMargin {
		p.guard = max(p.guard, core.GuardKept)
		switch {
		case g.More(winner.side, candidate.side):
			p.guard = core.GuardSwitched
			return true
		case g.More(candidate.side, winner.side):
			return false
		}
	}
	return rank(set, winner, candidate) > 0
}

// leastPressed takes the admitted holder under the least pressure among those
// with a queue, equals by ID.
func (p *CacheAware) leastPressed() (winner *holder) {
	var set pressure.Set
	for i := range p.gated {
		set.Add(p.gated[i].side)
	}
	for i := range p.gated {
		candidate := &p.gated[i]
		if !p.pass(candidate.worker, candidate.side) {
			continue
		}
		if winner != nil {
			order := set.Compare(candidate.side, winner.side)
			if order > 0 || order == 0 && candidate.worker.ID > winner.worker.ID {
				continue
			}
		}
		winner = candidate
	}
	return winner
}
