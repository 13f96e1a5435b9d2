package policy

import "github.com/pointsman/pointsman/core"

// counted is how many of the tokens that an engine holds count towards a hit: with
// private matching, only those beyond the part that many prompts share.
func (p *CacheAware) counted(matched, input, depth uint64) uint64 {
	if !p.caching.Private || p.lookup.Shared == 0 {
		return matched
	}
	return held(input, depth-min(depth, p.lookup.Shared), p.lookup.Blocks)
}

// sharing lists the engines worth going to for a prompt's shared part: those that
// hold enough, have no queue and no more in flight than the mean and one (design
// section 5b), and of these the ones that hold the most, within the switch margin.
// Where many hold a prompt, load then decides; where few do, the next ones come in
// as soon as these have more to do than others.
func (p *CacheAware) sharing(engines []*core.Worker, now core.Instant) []*core.Worker {
	if len(p.shares) == 0 {
		return nil
	}
	n, all := uint64(len(engines)), uint64(0)
	for _, w := range engines {
		all += p.loads.Inflight(w)
	}
	var most uint64
	kept := p.shares[:0]
	for _, s := range p.shares {
		if w := engines[s.at]; p.loads.Inflight(w)*n <= all+n && !p.queued(w, now) {
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

// share takes one of the engines that hold the shared part, by pressure.
// Admission is asked about the one chosen.
func (p *CacheAware) share(sharing []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	w, side := p.sampled(sharing, req)
	pick := core.Pick{Worker: w, Reason: core.ReasonSharedPrefix, Matched: p.heldBy(w, req.Input), Cache: core.CacheHit}
	return p.check(pick, side, req)
}
