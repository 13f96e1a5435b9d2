package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
)

// known says by what the chosen engine's part of the prompt is known, and how old that
// is. A pick that did not look at prefixes knows nothing.
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
	if at < 0 {
		return p
	}
	l := &r.memo.lookups[at]
	if p.Age = l.Age; pick.Matched.N == 0 {
		return p
	}
	var told uint64
	if d := l.of(pick.Worker.ID); d != nil {
		told = d.Blocks
		if d.Age.Known {
			p.Age = d.Age
		}
		if d.Uncertain {
			p.Certainty = receipt.CertaintyUncertain
		}
	}
	if r.expects(l) {
		r.lookAhead()
		if r.ahead = r.pendingDepth(l, pick.Worker); r.ahead > told {
			p.Certainty = receipt.CertaintyPending
		}
	}
	return p
}
