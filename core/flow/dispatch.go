package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
)

// dispatch charges the complete selection and sends the request (invariant I3).
// The breaker may have closed the door since the pick; the request is then
// refused, not moved to an engine nobody picked.
func (r *Request) dispatch(now core.Instant, picked bucket.BucketPick) {
	pick, ok := picked.Plain()
	if !ok {
		// The configuration refuses prefill/decode buckets, so a pair is a fault.
		r.fail()
		return
	}
	if !r.ctx.Fleet.Charge(&r.charge, pick.Worker, now) {
		r.refuse(CodeBreakerOpen, "the chosen engine stopped taking requests; try again")
		return
	}
	r.phase = phaseRouted
	r.receipt.Chosen, r.receipt.Reason = pick.Worker.ID, pick.Reason
	r.ctx.Counters.add(RequestsRouted)
	r.ctx.Counters.picked(pick.Reason)
	r.effects = append(r.effects, Effect{Kind: EffectRoute, Endpoint: pick.Worker.Address})
	r.emit(EffectContinue)
	r.emit(EffectReceipt)
}
