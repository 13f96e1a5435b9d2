package flow

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
)

// ask is what a request asks for.
type ask struct {
	model  string
	input  core.Tokens
	output core.Count // that the request asks for
	peak   core.Count
	prompt string // a part of the body; empty when the body was not seen
	size   uint64 // bytes of the body; 0 when it was not seen
	lead   int    // bytes of prompt that are its system prompt, where the body has it apart
	ends   []int  // of the prompt's elements, valid until the next body is read; nil when not known

	tools, template string // what the prompt's text depends on beside it; parts of the body
	salt            string // cache salt

	adapter    string // named in the body beside the model
	parameters parameters
}

// route selects an engine for the request and sends it there, or answers why
// not (engine-selection.md 3.1).
func (r *Request) route(now core.Instant, a ask) {
	r.receipt.Input, r.receipt.Peak = a.input, a.peak
	route, ok := r.ctx.routeTo(a.model, r.ctx.Fleet)
	if ok {
		r.receipt.Model = shorten(route.Name)
	} else {
		r.noteUnrouted(a.model)
	}
	if !r.ctx.Fleet.Known() {
		// Nor are adapters known, so an unknown name proves nothing.
		r.unplaced(now, a)
		return
	}
	if !ok {
		r.refuse(CodeModelNotFound, fmt.Sprintf("the model %q does not exist here", shorten(a.model)))
		return
	}
	if !r.govern(route.Model, &a.parameters) {
		return
	}
	r.rid.room = a.parameters.rid
	route = r.adapted(route, a.adapter)
	r.seed()
	r.bucket = core.BucketRequest{
		Model: route.Model, Asked: route.Asked, Input: a.input, Peak: a.peak, Now: now,
		SessionKey: r.session, RoutingKey: r.routing, Prompt: a.prompt, Rand: r.rand, Subset: r.subset,
	}
	r.trace(route, &a)
	if r.observe(route, a) {
		return
	}
	r.choose(route)
	if !r.Waiting() {
		r.bucket.Prompt = "" // it goes with the body
	}
}

// seed starts the request's random source. Only requests that reach selection
// take a number, so that a seeded context chooses alike whatever else it
// answers in between.
func (r *Request) seed() {
	r.ctx.ordinal++
	r.ordinal = r.ctx.ordinal
	r.reseed()
}

// reseed starts the random source anew, so that a resumed selection repeats
// itself.
func (r *Request) reseed() { r.pcg.Seed(r.ctx.seed, r.ordinal) }

// keepPrompt is how much of the prompt is kept for a request that waits: as much
// as any policy looks at.
const keepPrompt = 1 << 20

// unplaced handles a request while no fleet is known (design section 7). A
// context that has just begun holds it back until its first sync.
func (r *Request) unplaced(now core.Instant, a ask) {
	switch {
	case r.ctx.unplaced:
		if route, ok := r.ctx.Router.Route(a.model, r.ctx.Fleet); ok && !r.govern(route.Model, &a.parameters) {
			return
		}
		r.splice()
		r.phase = phasePassed
		r.ctx.Counters.add(RequestsUnplaced)
		r.emit(EffectContinue)
	case r.ctx.waits(now):
		a.keep()
		r.phase, r.asked = phaseFleet, a
		r.emit(EffectPause)
	default:
		r.refuse(CodeStateUnavailable, "the router does not know its engines yet; try again")
	}
}

// noteUnrouted keeps a copy of a model name that is a part of the body.
func (r *Request) noteUnrouted(model string) { r.receipt.Model = strings.Clone(shorten(model)) }

// walk is how far a request is on its way through the buckets.
type walk struct {
	buckets  []*bucket.Bucket
	at       int
	rejected bool       // some bucket's engines were at their limits
	missing  core.Stage // that the last bucket without candidates lacked
}

// choose lists the buckets that take the request and tries them.
func (r *Request) choose(route spec.Target) {
	targets, ok := r.targets(route.Resolver.Preferences())
	if !ok {
		return
	}
	buckets, err := r.resolve(route.Resolver, targets)
	if err != nil {
		r.fail(err)
		return
	}
	if len(buckets) == 0 {
		r.refuse(CodeBadRequest, r.tooLong())
		return
	}
	for _, b := range buckets {
		r.receipt.Ordered(b.ID())
	}
	r.walk = walk{buckets: buckets}
	r.tryBuckets()
}

// tryBuckets tries the buckets in order until one gives a complete selection.
func (r *Request) tryBuckets() {
	for r.walk.at < len(r.walk.buckets) {
		b := r.walk.buckets[r.walk.at]
		picked, err := b.Pick(r.ctx.Fleet, &r.bucket)
		if err == nil {
			r.settle(b, picked)
			return
		}
		if !r.passed(b, err) {
			return
		}
	}
	r.refuse(exhausted(r.walk.rejected, r.walk.missing))
}

// passed notes why a bucket gives no selection and reports whether the next one
// may be tried; otherwise the request is answered.
func (r *Request) passed(b *bucket.Bucket, err error) bool {
	r.explain(b, err)
	try := tryOf(b.ID(), err)
	r.ctx.Counters.failed(&try)
	r.receipt.Tried(try)
	r.walk.at++
	switch {
	case !core.Advance(err):
		r.fail(err)
		return false
	case errors.Is(err, core.ErrRejected):
		r.walk.rejected = true
	default:
		r.walk.missing = core.StageOf(err)
	}
	return true
}

// settle sends the request to a complete selection, once its new placements are
// stored.
func (r *Request) settle(b *bucket.Bucket, picked bucket.Selection) {
	if !r.bindFirst(b, picked) {
		r.finish(b, picked)
	}
}

// finish dispatches the selection.
func (r *Request) finish(b *bucket.Bucket, picked bucket.Selection) {
	r.receipt.Tried(receipt.Try{Bucket: b.ID(), Verdict: receipt.VerdictPicked})
	r.receipt.Bucket = b.ID()
	r.account(b, picked)
	r.dispatch(r.bucket.Now, b, picked)
}

// resolve lists the buckets to try. A prompt of unknown length goes where the
// longest go: an unknown length is no short one (invariant I4).
func (r *Request) resolve(resolver *bucket.Resolver, targets bucket.Targets) ([]*bucket.Bucket, error) {
	input := r.bucket.Input
	if r.receipt.Source == receipt.SourceUnknown {
		for _, b := range resolver.Buckets() {
			input = max(input, longest(b.Spec()))
		}
	}
	if r.memo == nil {
		return resolver.Resolve(input, r.bucket.Peak, targets)
	}
	buckets, err := resolver.AppendResolved(r.memo.buckets[:0], input, r.bucket.Peak, targets)
	r.memo.buckets = buckets
	return buckets, err
}

// longest is the most input a bucket takes.
func longest(s bucket.Spec) core.Tokens {
	most := core.Tokens(math.MaxUint64)
	if s.Max != nil {
		most = *s.Max
	}
	if s.MaxContext != nil {
		most = min(most, *s.MaxContext)
	}
	return most
}

// fail answers what a person must look into. The cause goes to the log only.
func (r *Request) fail(cause error) {
	r.effects = append(r.effects, Effect{Kind: EffectFault, Fault: cause})
	r.refuse(CodeInternal, "the router could not handle the request; its log says why")
}

func (r *Request) tooLong() string {
	if r.bucket.Peak.Known {
		return fmt.Sprintf("no bucket takes %d prompt tokens with %d tokens in all", r.bucket.Input, r.bucket.Peak.N)
	}
	return fmt.Sprintf("no bucket takes %d prompt tokens", r.bucket.Input)
}

func tryOf(id string, err error) receipt.Try {
	t := receipt.Try{Bucket: id, Verdict: receipt.VerdictFailed, Stage: core.StageOf(err)}
	switch {
	case errors.Is(err, core.ErrRejected):
		t.Verdict = receipt.VerdictRejected
		if rejections := core.Rejections(err); len(rejections) > 0 {
			t.First, t.Refused = rejections[0], len(rejections)
		}
	case core.Advance(err):
		t.Verdict = receipt.VerdictNoCandidates
	}
	return t
}
