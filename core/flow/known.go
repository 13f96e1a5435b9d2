package flow

import (
	"math/bits"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
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
	switch {
	case !pick.Matched.Known:
		if p.Unavailable, p.Why = true, r.memo.unasked; at >= 0 {
			p.Why = r.memo.lookups[at].Detail
		}
	case at >= 0:
		r.knownBy(&p, &r.memo.lookups[at], pick)
	}
	return p
}

// knownBy adds what an answer says about the chosen engine.
func (r *Request) knownBy(p *receipt.Prefix, l *lookup, pick *core.Pick) {
	if p.Age = l.Age; pick.Matched.N == 0 {
		return
	}
	d := l.of(pick.Worker.ID)
	var told uint64
	if d != nil {
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
			return // where it keeps what it computes nobody has told
		}
	}
	if d != nil {
		p.Device = onDevice(d, pick.Matched.N)
	}
}

// onDevice gives how many of the tokens that an engine holds are in device memory,
// unknown where all are or it does not say.
func onDevice(d *wire.Depth, matched uint64) core.Count {
	if !d.DeviceBlocks.Known || d.DeviceBlocks.N >= d.Blocks {
		return core.Count{}
	}
	high, low := bits.Mul64(matched, d.DeviceBlocks.N)
	tokens, _ := bits.Div64(high, low, d.Blocks) // high is less: it is a part of matched
	return core.Known(tokens)
}
