package policy

import (
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
func (p *CacheAware) share(engines, sharing []*core.Worker, req *core.PickRequest) (pick core.Pick, found bool, err error) {
	w, side := p.spread(sharing, req)
	n, all := uint64(len(engines)), uint64(0)
	for _, e := range engines {
		all += p.loads.Inflight(e)
	}
	if side.Inflight*n > all+n {
		return core.Pick{}, false, nil
	}
	pick, err = p.check(core.Pick{Worker: w, Reason: core.ReasonSharedPrefix, Matched: p.heldBy(w, req.Input), Cache: core.CacheHit}, side, req)
	return pick, true, err
}

// spread takes the least busy of a few engines drawn at random. What a conversation
// costs comes later, and with its engine, so the requests in flight at its
// beginning tell little: when they differ by no more than one, which other proxies'
// old counts do by themselves, what the engines were sent lately decides.
func (p *CacheAware) spread(pool []*core.Worker, req *core.PickRequest) (*core.Worker, pressure.Side) {
	p.sample.begin(len(pool), req.Rand)
	best := pool[p.sample.next()]
	lowest := p.observe(best, req.Now)
	for range min(p.caching.MinLoadChoices, len(pool)) - 1 {
		w := pool[p.sample.next()]
		if side := p.observe(w, req.Now); p.busier(best, lowest, w, side, req.Stage) {
			best, lowest = w, side
		}
	}
	p.sample.end()
	return best, lowest
}

// busier reports whether an engine is busier than another. Complete reports
// decide where both have one.
func (p *CacheAware) busier(w *core.Worker, side pressure.Side, than *core.Worker, other pressure.Side, stage core.Stage) bool {
	if side.Report != nil && other.Report != nil && side.Report.Native() && other.Report.Native() {
		return pressure.Compare(stage, side, other) > 0
	}
	if max(side.Inflight, other.Inflight)-min(side.Inflight, other.Inflight) > 1 {
		return side.Inflight > other.Inflight
	}
	return p.prefixes.Sent(p.caching.Source, w) > p.prefixes.Sent(p.caching.Source, than)
}
