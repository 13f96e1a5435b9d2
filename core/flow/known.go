package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
)

// known says by what the chosen engine's part of the prompt is known, and on which of
// its ranks it is. A pick that did not look at prefixes knows nothing.
func (r *Request) known(pick *core.Pick) (p receipt.Prefix) {
	if pick.Cache == core.CacheNone {
		return p
	}
	p.Source = r.source
	if p.Source == policy.SourceHistory || r.memo == nil {
		p.Unavailable = !pick.Matched.Known
		return p
	}
	at := r.memo.lookup(p.Source)
	if !pick.Matched.Known {
		if p.Unavailable, p.Why = true, r.memo.unasked; at >= 0 {
			p.Why = r.memo.lookups[at].Detail
		}
		return p
	}
	if at < 0 || pick.Matched.N == 0 {
		return p
	}
	l := &r.memo.lookups[at]
	var told uint64
	if d := l.of(pick.Worker.ID); d != nil {
		told = d.Blocks
		if d.Uncertain {
			p.Certainty = receipt.CertaintyUncertain
		}
		if forPrefix(pick) {
			p.Rank = d.Rank
		}
	}
	if r.expects(l) {
		r.lookAhead()
		if r.pendingDepth(l, pick.Worker) > told {
			p.Certainty = receipt.CertaintyPending
		}
	}
	return p
}

// forPrefix reports whether an engine was chosen for what it holds. Only then a rank is
// worth naming (engine-selection.md 8.7): all prompts begin alike somehow, and would all
// go to the rank that computed the first of them. A spare engine that gets the request
// in its place is told the same rank: engines of a group are expected to have as many.
func forPrefix(pick *core.Pick) bool {
	return pick.Reason == core.ReasonCacheCandidate || pick.Reason == core.ReasonSaturationPin || pick.Reason == core.ReasonSharedPrefix
}
