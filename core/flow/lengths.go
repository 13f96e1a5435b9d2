package flow

import (
	"math"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
)

// recount is how long a context does not ask for the lengths of a model's prompts
// after the state service said that it cannot count them, in milliseconds.
const recount = 10_000

// gauge is how far a context's estimates of one model's prompts were from what the
// state service counted. It is what tells an estimate that is good enough.
type gauge struct {
	samples uint64
	ratio   float64      // of count to estimate, smoothed
	spread  float64      // how far single ratios are from it, smoothed
	quiet   core.Instant // nothing is asked before
}

// What a gauge goes by. Ratio and spread move as the round-trip time of TCP does
// (RFC 6298): an eighth and a quarter of the way, with four spreads for the error.
const (
	gaugeSamples = 8    // fewer say nothing yet
	gaugeUnknown = 4    // factor by which an estimate may be off until then
	gaugeLeast   = 0.05 // of the ratio: the error never counts as less
)

// note takes in what an estimate turned out to be.
func (g *gauge) note(estimate, count core.Tokens) {
	ratio := float64(count) / float64(max(estimate, 1))
	if g.samples == 0 {
		g.ratio, g.spread = ratio, ratio/2
	} else {
		// Each product is rounded by itself, so that no machine fuses it with the sum.
		g.spread += float64((math.Abs(ratio-g.ratio) - g.spread) / 4)
		g.ratio += float64((ratio - g.ratio) / 8)
	}
	g.samples++
}

// span gives the shortest and the longest that the prompt is likely to be.
func (g *gauge) span(estimate core.Tokens) (low, high core.Tokens) {
	e := float64(estimate)
	if g.samples < gaugeSamples {
		return tokensOf(e / gaugeUnknown), tokensOf(e * gaugeUnknown)
	}
	off := max(float64(4*g.spread), float64(gaugeLeast*g.ratio))
	return tokensOf(e * (g.ratio - off)), tokensOf(e * (g.ratio + off))
}

// tokensOf makes tokens of a number: a prompt has at least one.
func tokensOf(n float64) core.Tokens {
	const most = 1 << 62
	return core.Tokens(min(max(n, 1), most))
}

// gaugeOf gives the gauge of a model of the configuration.
func (c *Context) gaugeOf(model string) *gauge {
	g := c.gauges[model]
	if g == nil {
		if c.gauges == nil {
			c.gauges = map[string]*gauge{}
		}
		g = &gauge{}
		c.gauges[model] = g
	}
	return g
}

// asksLength reports whether the state service is to count the request's prompt
// (design section 3, step 4).
func (r *Request) asksLength(target spec.Target, a *ask, lengths spec.Lengths) bool {
	if lengths == spec.LengthsEstimated || r.receipt.Source != receipt.SourceEstimate || a.size == 0 || a.size > r.ctx.state.ObserveMaxBody {
		return false
	}
	g := r.ctx.gaugeOf(target.Model)
	if r.bucket.Now < g.quiet {
		return false
	}
	if lengths == spec.LengthsExact {
		return true
	}
	low, high := g.span(a.input)
	return target.Resolver.Splits(low, high, a.output)
}

// counted goes by the length that the state service counted, and reports whether
// the request goes on. Without one it goes by the estimate.
func (r *Request) counted(count core.Count, uncounted bool) bool {
	m := r.memo
	switch g := r.ctx.gaugeOf(m.target.Model); {
	case count.Known:
		g.note(r.bucket.Input, count.N)
	case uncounted:
		g.quiet = r.bucket.Now + recount
		r.ctx.Counters.add(LengthsUncounted)
		return true
	default:
		r.ctx.Counters.add(LengthsUnavailable)
		return true
	}
	r.ctx.Counters.add(LengthsCounted)
	input := max(1, count.N)
	peak, fits := peakOf(input, m.output)
	if !fits {
		r.refuse(CodeBadRequest, tooMuchOutput)
		return false
	}
	r.bucket.Input, r.bucket.Peak = input, peak
	r.receipt.Input, r.receipt.Peak, r.receipt.Source = input, peak, receipt.SourceTokenizer
	return true
}
