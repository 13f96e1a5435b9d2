package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
)

// maxRounds bounds the binds of one request (design section 3 step 7).
const maxRounds = 3

// stages are those a selection may have an engine of.
func stages() [3]core.Stage {
	return [3]core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode}
}

// bindFirst asks for the placements a complete selection makes and reports
// whether the request waits for them.
func (r *Request) bindFirst(b *bucket.Bucket, picked bucket.Selection) bool {
	m := r.memo
	if m == nil || m.cut || m.rounds == maxRounds {
		return false
	}
	m.bind.Proposals = m.bind.Proposals[:0]
	for _, stage := range stages() {
		pick, ok := picked.Pick(stage)
		e := m.entryOf(b.ID(), stage)
		if ok && pick.Bind && e.bindable(pick.Worker.ID) && !stands(e, picked) {
			m.bind.Proposals = append(m.bind.Proposals, wire.Proposal{Scope: e.wire(), Worker: pick.Worker.ID, Seen: e.Worker, IdleSeconds: e.idle})
		}
	}
	if len(m.bind.Proposals) == 0 {
		return false
	}
	m.rounds++
	m.chosen, m.picked = b, picked.Kept(m.candidates)
	m.candidates = m.picked.Candidates()
	m.bind.Context, m.bind.TimeoutMillis = r.ctx.state.Key, uint32(r.ctx.state.BindWithin)
	r.wait(phaseBind, Effect{Kind: EffectBind, Bind: &m.bind}, r.bucket.Now+r.ctx.state.BindWithin)
	return true
}

// stands reports whether a binding stands although its engine does not serve the
// request: it was at its limit, and a rejection leaves the binding.
func stands(e *entry, picked bucket.Selection) bool {
	return picked.Moved() && e.State == policy.BindingBound
}

func (r *Request) onBound(ev *Event) {
	if r.phase != phaseBind || ev.Call != r.memo.call {
		return
	}
	if ev.Bound == nil {
		r.unbound(ev.Now, BindsUnavailable)
		return
	}
	r.bound(ev.Now, ev.Bound)
}

// unbound goes on without an answer: the engine that was picked serves the
// request and nobody knows.
func (r *Request) unbound(now core.Instant, outcome Counter) {
	r.ctx.Counters.add(outcome)
	r.bucket.Now, r.memo.cut = now, true
	r.resume(r.memo.picked)
}

// bound takes what the scopes are bound to. What another request was faster to
// place is picked again, and follows it if it is admitted.
func (r *Request) bound(now core.Instant, reply *wire.BindReply) {
	m := r.memo
	r.bucket.Now = now
	outcome, kept := BindsWon, m.picked
	for i := range m.bind.Proposals {
		p := &m.bind.Proposals[i]
		e := m.entryOf(m.chosen.ID(), p.Scope.Stage)
		e.set(bindingOf(reply.Bindings, e.digest))
		if e.State != policy.BindingBound {
			// An answer that names no engine is no answer for this scope.
			e.Binding, outcome = policy.Binding{}, BindsUnavailable
			continue
		}
		r.ctx.recent.put(e.digest, e.Worker)
		if e.Worker != p.Worker {
			outcome, kept = BindsLost, kept.Without(p.Scope.Stage)
		}
	}
	r.ctx.Counters.add(outcome)
	r.resume(kept)
}

// resume completes what is left of the selection that waited. Engines that left
// or closed their door meanwhile are picked again too.
func (r *Request) resume(kept bucket.Selection) {
	m := r.memo
	kept, whole := r.present(kept)
	if whole {
		r.finish(m.chosen, kept)
		return
	}
	r.reseed()
	r.bucket.Again = true
	picked, err := m.chosen.Resume(r.ctx.Fleet, &r.bucket, kept)
	r.bucket.Again = false
	if err == nil {
		r.settle(m.chosen, picked)
		return
	}
	if last, whole := r.present(m.picked); whole && m.rounds == maxRounds && core.Advance(err) {
		r.finish(m.chosen, last) // the last winner cannot be followed
		return
	}
	if r.passed(m.chosen, err) {
		r.tryBuckets()
	}
}

// present leaves the engines that are still the fleet's and take requests, and
// reports whether none is missing.
func (r *Request) present(s bucket.Selection) (left bucket.Selection, whole bool) {
	for _, stage := range stages() {
		if pick, ok := s.Pick(stage); ok && !r.takes(pick) {
			s = s.Without(stage)
		}
	}
	return s, s.Whole()
}

// takes reports whether a picked engine still takes the request. One that drains
// takes what was bound to it, and no new placement.
func (r *Request) takes(pick core.Pick) bool {
	f, now := r.ctx.Fleet, r.bucket.Now
	return f.Available(pick.Worker, now) || (!pick.Bind && f.Drains(pick.Worker, now))
}

// account counts placements that nobody stored, and notes bindings that were
// followed for the next sync.
func (r *Request) account(b *bucket.Bucket, picked bucket.Selection) {
	for _, stage := range stages() {
		pick, ok := picked.Pick(stage)
		if !ok || (r.memo == nil && !pick.Bind) {
			continue
		}
		var e *entry
		if r.memo != nil {
			e = r.memo.entryOf(b.ID(), stage)
		}
		switch {
		case e != nil && e.State == policy.BindingBound && e.Worker == pick.Worker.ID:
			r.followed(e, pick.Bind)
		case pick.Bind && e != nil && stands(e, picked):
			r.ctx.Counters.add(UnboundRejected)
		case pick.Bind && e != nil && e.State != policy.BindingUnavailable && !r.memo.cut:
			r.ctx.Counters.add(UnboundRounds)
		case pick.Bind || (e != nil && e.State == policy.BindingUnavailable):
			r.ctx.Counters.add(UnboundUnavailable)
		}
	}
}

// followed notes a binding that decided. One that is new needs no refresh.
func (r *Request) followed(e *entry, isNew bool) {
	if e.remembered {
		r.ctx.Counters.add(BindingsRemembered)
	}
	if !isNew && !r.ctx.recent.use(e.digest, e.Worker) {
		r.ctx.Counters.add(UsedDropped)
	}
}
