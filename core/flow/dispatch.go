package flow

import (
	"errors"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/receipt"
)

// errPair is a fault because the configuration refuses prefill/decode buckets.
var errPair = errors.New("a prefill/decode pair was picked and cannot be dispatched")

// dispatch charges the complete selection and sends the request (invariant I3).
// The breaker may have closed the door since the pick; the request is then
// refused, not moved to an engine nobody picked.
func (r *Request) dispatch(now core.Instant, chosen *bucket.Bucket, picked bucket.Selection) {
	pick, ok := picked.Plain()
	if !ok {
		r.fail(errPair)
		return
	}
	r.consider(picked.Candidates(), pick.Worker, now)
	if !r.ctx.Fleet.Charge(&r.charge, pick.Worker, now) {
		r.refuse(CodeBreakerOpen, "the chosen engine stopped taking requests; try again")
		return
	}
	r.phase = phaseRouted
	r.receipt.Prefix = r.known(&pick) // before this request is a part of it
	r.enter(pick.Worker, now)
	r.countSent(&pick)
	r.receipt.Chosen, r.receipt.Reason, r.receipt.Matched = pick.Worker.ID, pick.Reason, pick.Matched
	r.ctx.Counters.add(RequestsRouted)
	r.ctx.Counters.picked(pick.Reason)
	r.ctx.Counters.decided(&pick)
	r.named[0] = pick.Worker
	if r.ctx.retry {
		r.chooseSpares(chosen)
	}
	r.receipt.Rank, r.receipt.RankBy = r.chooseRank(&pick)
	if r.receipt.Rank.Known {
		r.ctx.Fleet.ChargeRank(&r.charge, r.receipt.Rank.N)
		r.noteRank(now)
	}
	r.nameRequest(pick.Worker)
	r.forwardInputIDs()
	r.splice()
	r.effects = append(r.effects, Effect{Kind: EffectRoute, Endpoint: r.endpoint(), Rank: r.receipt.Rank, OwnsRank: r.ownsRank()})
	r.emit(EffectContinue)
	r.emit(EffectReceipt)
}

// consider records what the chosen engine was chosen among, itself first, with
// the load that was known before it took the request. All are counted, a few are
// observed.
func (r *Request) consider(candidates []*core.Worker, chosen *core.Worker, now core.Instant) {
	r.note(chosen, now)
	noted := 1
	if r.ctx.brief {
		r.receipt.Unlisted(len(candidates) - noted)
		return
	}
	for _, w := range candidates {
		if noted == receipt.MaxCandidates {
			break
		}
		if w != chosen {
			r.note(w, now)
			noted++
		}
	}
	r.receipt.Unlisted(len(candidates) - noted)
}

func (r *Request) note(w *core.Worker, now core.Instant) {
	r.receipt.Considered(receipt.Candidate{
		Worker: w.ID, Inflight: r.ctx.Fleet.Inflight(w), ReportAge: r.ctx.Fleet.ReportAge(w, now),
	})
	if r.receipt.IsFull() {
		if report, fresh := r.ctx.Fleet.Report(w, now); fresh {
			r.receipt.Loaded(*report)
		}
	}
}
