package policy

import "github.com/pointsman/pointsman/core"

// counted is how much of what an engine holds counts towards a hit: with private
// matching, only what lies beyond the part that many prompts share.
func (p *CacheAware) counted(depth uint64) uint64 {
	if !p.caching.Private {
		return depth
	}
	return depth - min(depth, p.lookup.Shared)
}

// sharing lists the engines worth going to for a prompt's shared part: those that
// hold enough, have no more in flight than the mean and one (design section 5b),
// and of these the ones that hold the most, within the switch margin. Where many
// hold a prompt, load then decides; where few do, the next ones come in as soon as
// these have more to do than others.
func (p *CacheAware) sharing(pool []*core.Worker, req *core.PickRequest) []*core.Worker {
	var all, most uint64
	for _, w := range pool {
		all += p.loads.Inflight(w)
	}
	n := uint64(len(pool))
	for _, w := range pool {
		depth := p.prefixes.Depth(p.caching.Source, w)
		if depth == 0 {
			continue
		}
		matched := held(req.Input, depth, p.lookup.Blocks)
		if p.enough(matched, req.Input) && p.loads.Inflight(w)*n <= all+n {
			p.sharers = append(p.sharers, w)
			most = max(most, matched)
		}
	}
	kept := p.sharers[:0]
	for _, w := range p.sharers {
		if plus(held(req.Input, p.prefixes.Depth(p.caching.Source, w), p.lookup.Blocks), p.caching.SwitchMargin) >= most {
			kept = append(kept, w)
		}
	}
	clear(p.sharers[len(kept):])
	p.sharers = kept
	return kept
}

// share takes one of the engines that hold the shared part, by pressure.
// Admission is asked about the one chosen.
func (p *CacheAware) share(sharing []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	w, side := p.sampled(sharing, req)
	pick := core.Pick{Worker: w, Reason: core.ReasonSharedPrefix, Matched: p.heldBy(w, req.Input), Cache: core.CacheHit}
	return p.check(pick, side, req)
}
