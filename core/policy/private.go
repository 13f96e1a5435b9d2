package policy

import (
	"math/rand/v2"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// counted is how many of the tokens that an engine holds count towards a hit: with
// private matching, only those beyond the part that many prompts share.
func (p *CacheAware) counted(matched, input, depth uint64) uint64 {
	if !p.caching.Private || p.lookup.Shared == 0 {
		return matched
	}
	return held(input, depth-min(depth, p.lookup.Shared), p.lookup.Blocks)
}

// sharing lists the engines that hold enough of a prompt's shared part and have no
// queue, and of these the ones that hold the most, within the switch margin.
func (p *CacheAware) sharing(engines []*core.Worker, now core.Instant) []*core.Worker {
	var most uint64
	kept := p.shares[:0]
	for _, s := range p.shares {
		if !p.queued(engines[s.at], now) {
			kept, most = append(kept, s), max(most, s.matched)
		}
	}
	for _, s := range kept {
		if plus(s.matched, p.caching.SwitchMargin) >= most {
			p.sharers = append(p.sharers, engines[s.at])
		}
	}
	return p.sharers
}

// share takes one of the engines that hold the shared part, unless it has more in
// flight than the mean and one (design section 5b): found is false then. Where many
// hold a prompt, load decides; where few do, the next ones come in as soon as these
// have more to do than others. Admission is asked about the one chosen.
func (p *CacheAware) share(sharing []*core.Worker, req *core.PickRequest) (pick core.Pick, found bool, err error) {
	w, side := p.spread(sharing, req)
	if p.busy.above(side.Inflight) {
		return core.Pick{}, false, nil
	}
	pick, err = p.check(core.Pick{Worker: w, Reason: core.ReasonSharedPrefix, Matched: p.heldBy(w, req.Input), Cache: core.CacheHit}, side, req)
	return pick, true, err
}

// spread takes the less busy of a few engines drawn at random. What a conversation
// costs comes later, and all of it to the same engine, while the requests in flight
// tell of this moment and, of other contexts, of some moments ago. So engines whose
// in-flight differs by little are told apart by what this context sent them lately.
func (p *CacheAware) spread(pool []*core.Worker, req *core.PickRequest) (*core.Worker, pressure.Side) {
	p.sample.begin(len(pool), req.Rand)
	best := p.burdenOf(pool[p.sample.next()], req.Now)
	for range min(p.caching.MinLoadChoices, len(pool)) - 1 {
		if next := p.burdenOf(pool[p.sample.next()], req.Now); p.busier(&best, &next, req.Stage) {
			best = next
		}
	}
	p.sample.end()
	return best.worker, best.side
}

// burden is what engines are told apart by.
type burden struct {
	worker *core.Worker
	side   pressure.Side
	sent   uint64 // lately by this context
}

func (p *CacheAware) burdenOf(w *core.Worker, now core.Instant) burden {
	return burden{w, p.observe(w, now), p.prefixes.Sent(p.caching.Source, w)}
}

// busier reports whether an engine is busier than another. With private matching
// complete reports decide where both have one; else pressure does as in power_of_two
// (engine-selection.md 9.6), which says nothing of equals.
func (p *CacheAware) busier(one, than *burden, stage core.Stage) bool {
	a, b := one.side, than.side
	if !p.caching.Private {
		if order := pressure.Compare(stage, a, b); order != 0 {
			return order > 0
		}
		return one.sent > than.sent
	}
	if a.Report != nil && b.Report != nil && a.Report.Native() && b.Report.Native() {
		if order := pressure.Compare(stage, a, b); order != 0 {
			return order > 0
		}
	}
	if max(a.Inflight, b.Inflight)-min(a.Inflight, b.Inflight) > p.busy.slack() {
		return a.Inflight > b.Inflight
	}
	return one.sent > than.sent
}

// mean is the requests in flight of some engines.
type mean struct{ all, n uint64 }

// meanSample is how many engines the mean of a group is taken over. It decides
// between much and little only, and to ask a thousand engines costs more than all
// the rest of a pick.
const meanSample = 16

// meanOf is that of the candidates, of many those of a sample: so many of them at
// even distances, from one drawn at random on. To draw each would cost more than to
// ask it.
func (p *CacheAware) meanOf(engines []*core.Worker, r *rand.Rand) mean {
	m := mean{n: uint64(min(len(engines), meanSample))}
	if len(engines) <= meanSample {
		for _, w := range engines {
			m.all += p.loads.Inflight(w)
		}
		return m
	}
	at, step := r.IntN(len(engines)), len(engines)/meanSample
	for range meanSample {
		m.all += p.loads.Inflight(engines[at])
		if at += step; at >= len(engines) {
			at -= len(engines)
		}
	}
	return m
}

// above reports whether an engine has more in flight than the mean and one.
func (m mean) above(inflight uint64) bool { return inflight > (m.all+m.n)/m.n }

// slack is the difference in flight that decides by itself: one and half the mean.
func (m mean) slack() uint64 { return 1 + m.all/m.n/2 }
