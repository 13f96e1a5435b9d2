package story

import (
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
)

// nativeExchange is one request of a nativeFilter.
type nativeExchange struct {
	filter    *nativeFilter
	request   *flow.Request
	received  uint64 // bytes, headers included
	body      []byte
	state     State
	upstream  string
	responded bool
	over      bool
}

// step hands over one event and carries out the effects.
func (e *nativeExchange) step(ev *flow.Event) {
	answered := false
	for _, effect := range e.request.Step(ev) {
		switch effect.Kind {
		case flow.EffectPause:
			e.state.Held = true
		case flow.EffectContinue:
			e.state.Held = false
		case flow.EffectRoute:
			e.state.Endpoint, e.state.Rank = effect.Endpoint, ""
			if effect.Rank.Known {
				e.state.Rank = strconv.FormatUint(effect.Rank.N, 10)
			}
		case flow.EffectRespond:
			e.answer(&effect.Response)
			answered = true
		case flow.EffectReceipt:
			e.state.Receipts = append(e.state.Receipts, e.request.Receipt().Describe())
		case flow.EffectFault:
			e.filter.fault(effect.Fault)
		case flow.EffectSplice:
			for _, in := range slices.Backward(effect.Insertions) {
				e.body = slices.Insert(e.body, in.At, []byte(in.Text)...)
			}
		case flow.EffectWorker:
			e.state.Worker = effect.Text
		case flow.EffectObserve:
			e.observe(&effect)
		case flow.EffectBind:
			e.bind(&effect)
		case flow.EffectNone, flow.EffectStrip, flow.EffectAbort: // see finish
		}
	}
	if answered {
		e.finish(&flow.Event{})
	}
}

func (e *nativeExchange) answer(r *flow.Response) {
	e.state.Held = false
	e.state.Answer = &Answer{Status: r.Status, Code: r.Code.String(), Body: string(r.Body)}
	if r.RetryAfter {
		e.state.Answer.RetryAfter = "1"
	}
}

// fault logs what a person must look into, once a tick.
func (f *nativeFilter) fault(err error) {
	if !f.faulted {
		f.faulted = true
		f.log = append(f.log, "a request was answered with 500: "+err.Error())
	}
}

// finish ends the stream; the machine must not be used after it.
func (e *nativeExchange) finish(ev *flow.Event) {
	if e.over {
		return
	}
	ev.Kind, ev.Now = flow.EventDone, e.filter.now()
	for _, effect := range e.request.Step(ev) {
		if effect.Kind == flow.EffectAbort {
			e.filter.env.Service.Abort(effect.Endpoint, effect.Text)
		}
	}
	e.over = true
}

func (e *nativeExchange) Data(chunk []byte, end bool) {
	e.received += uint64(len(chunk))
	e.body = append(e.body, chunk...)
	if e.over || e.filter.env.HideBodies || !e.request.Waiting() {
		return
	}
	if end {
		e.step(&flow.Event{Kind: flow.EventBody, Now: e.filter.now(), Body: string(e.body)})
		e.filter.runQueue()
		return
	}
	e.step(&flow.Event{Kind: flow.EventBodyPart, Now: e.filter.now(), Size: uint64(len(e.body))})
}

func (e *nativeExchange) Upstream(address string) { e.upstream = address }

func (e *nativeExchange) Respond(status int) { e.respond(&flow.Event{Status: status}) }

func (e *nativeExchange) respond(ev *flow.Event) {
	if e.responded || e.over {
		return
	}
	e.responded = true
	ev.Kind, ev.Now = flow.EventResponse, e.filter.now()
	if e.filter.flow.NeedsUpstream() {
		ev.Upstream = e.upstream
	}
	e.step(ev)
}

func (e *nativeExchange) Finish(end End) {
	if e.over {
		return
	}
	done := &flow.Event{End: fleet.EndCut}
	switch end {
	case EndComplete:
		done.End = fleet.EndComplete
		e.respond(&flow.Event{Status: 200})
	case EndGone:
		done.End = fleet.EndGone
	case EndNoHost:
		done.End = fleet.EndGone
		e.respond(&flow.Event{Status: 503, Own: true})
	case EndTimeout:
		e.respond(&flow.Event{Status: 504, Failure: true})
	case EndCut, EndUnreachable:
		e.respond(&flow.Event{Status: 503, Failure: true})
	}
	if !e.responded && e.filter.flow.NeedsUpstream() {
		done.Upstream = e.upstream
	}
	e.finish(done)
}

func (e *nativeExchange) State() State {
	s := e.state
	if !s.Held && s.Answer == nil {
		s.Body = string(e.body)
	}
	return s
}
