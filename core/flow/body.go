package flow

import (
	"math/bits"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/receipt"
)

func (r *Request) onBodyPart(ev *Event) {
	if r.phase != phaseBody {
		return
	}
	r.ctx.bodySeen = true
	if ev.Size > r.ctx.maxBody {
		r.refuseTooLarge()
	}
}

func (r *Request) onBody(ev *Event) {
	if r.phase != phaseBody {
		return
	}
	r.ctx.bodySeen = true
	if ev.BodyErr != nil {
		r.fail(ev.BodyErr)
		return
	}
	if uint64(len(ev.Body)) > r.ctx.maxBody {
		r.refuseTooLarge()
		return
	}
	facts, err := chat.PeekWith(ev.Body, r.dialect, r.ctx.fieldsWanted(), r.ctx.endsWanted())
	if err != nil {
		r.noteUnrouted(facts.Model)
		r.refuse(CodeBadRequest, err.Error())
		return
	}
	r.keysOfBody()
	r.placePriority(&facts)
	if r.dialect == chat.DialectGenerate {
		facts.Model = r.ctx.generate
	}
	input := facts.EstimateTokens()
	if facts.Longest.Known {
		r.receipt.Source = receipt.SourceTokenIDs
	}
	peak, fits := peakOf(input, facts.Output)
	if !fits {
		r.noteUnrouted(facts.Model)
		r.refuse(CodeBadRequest, tooMuchOutput)
		return
	}
	r.route(ev.Now, ask{
		model: facts.Model, input: input, output: facts.Output, peak: peak, prompt: facts.Prompt, size: facts.Bytes,
		lead: facts.Lead, ends: facts.Ends, tools: facts.Tools, template: facts.Template, salt: facts.Salt,
		adapter: facts.Adapter, parameters: parametersOf(r.dialect, &facts),
	})
}

// tooMuchOutput refuses a request whose peak is no number.
const tooMuchOutput = "the requested output is too long to add to the prompt"

// peakOf adds input and requested output. An unknown output leaves the peak
// unknown; an overflow does not fit.
func peakOf(input core.Tokens, output core.Count) (peak core.Count, fits bool) {
	if !output.Known {
		return core.Count{}, true
	}
	sum, carry := bits.Add64(input, output.N, 0)
	return core.Known(sum), carry == 0
}

func (r *Request) onResponse(ev *Event) {
	if r.phase != phaseRouted {
		r.nameWorker("")
		return
	}
	if ev.Own || ev.Failure || ev.Status < 200 || ev.Status >= 300 {
		r.leave()
	}
	r.noteAnswer(ev)
	if ev.Own {
		r.nameWorker("")
		return
	}
	r.follow(ev)
	r.nameWorker(r.named[0].ID)
	if ev.Failure {
		r.ctx.Counters.add(EngineFailures)
		r.ctx.Fleet.Unanswered(&r.charge, ev.Now)
		return
	}
	outcome := breaker.OutcomeOf(ev.Status)
	if outcome == breaker.Failure {
		r.ctx.Counters.add(EngineFailures)
	}
	r.ctx.Fleet.Answered(&r.charge, outcome, ev.Now)
}

// nameWorker tells the client which engine has the request, if it is to know.
func (r *Request) nameWorker(id core.WorkerID) {
	if !r.ctx.naming {
		return
	}
	text := string(id)
	if strings.ContainsFunc(text, notVisible) {
		text = "" // no host takes it as a header's value
	}
	r.effects = append(r.effects, Effect{Kind: EffectWorker, Text: text})
}

func notVisible(c rune) bool { return c <= ' ' || c > '~' }

// onDone releases what the request holds, whatever ended it (invariant I6).
func (r *Request) onDone(ev *Event) {
	if r.phase == phaseOver {
		return
	}
	r.follow(ev)
	if r.charge.Held() {
		r.ctx.Fleet.Release(&r.charge, ev.End, ev.Now)
		r.ctx.Counters.add(ChargesReleased)
	}
	abort, needed := r.abortion(ev)
	r.phase = phaseOver
	r.ctx.recycle(r)
	if needed { // after what the request holds was let go of
		r.effects = append(r.effects, abort)
	}
}
