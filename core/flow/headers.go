package flow

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
)

func (r *Request) onHeaders(ev *Event) {
	if r.phase != phaseNew {
		return
	}
	r.emit(EffectStrip)
	path := withoutQuery(ev.Path)
	if path == "/v1/models" && ev.Method == "GET" {
		r.answerModels()
		return
	}
	r.dialect = r.ctx.dialectOf(path)
	if r.dialect == chat.DialectNone || ev.Method != "POST" {
		r.phase = phasePassed
		r.ctx.Counters.add(RequestsPassed)
		r.emit(EffectContinue)
		return
	}
	if r.refuseByHeaders(ev) {
		return
	}
	r.length, r.model = ev.ContentLength, ev.ModelHeader
	r.session, r.routing = policy.BoundKey(ev.SessionHeader), policy.BoundKey(ev.RoutingHeader)
	r.ttft, r.tps = readTTFT(ev.TTFTHeader), r.ctx.readRate(ev.TPSHeader)
	r.subset = ev.Subset
	if !r.readPriority(ev.PriorityHeader) {
		return
	}
	if r.ctx.headerOnly {
		r.routeByHeaders(ev)
		return
	}
	r.phase = phaseBody
	r.received = ev.Received
	r.deadline = ev.Now + r.ctx.bodyTimeout
	r.emit(EffectPause)
}

func withoutQuery(path string) string {
	for i := range len(path) {
		if path[i] == '?' {
			return path[:i]
		}
	}
	return path
}

// refuseByHeaders answers requests that need no body to be refused.
func (r *Request) refuseByHeaders(ev *Event) bool {
	switch {
	case ev.ContentEncoding != "" && !identity(ev.ContentEncoding):
		r.refuse(CodeUnsupportedEncoding, "send the request body without content-encoding")
	case ev.ContentLength.Known && ev.ContentLength.N > r.ctx.maxBody:
		r.refuseTooLarge()
	case ev.EndOfStream:
		r.refuse(CodeBadRequest, "the request has no body; send a JSON object")
	default:
		return false
	}
	return true
}

// identity reports whether an encoding changes nothing.
func identity(encoding string) bool {
	encoding = strings.ToLower(strings.TrimSpace(encoding))
	return encoding == "" || encoding == "identity"
}

func (r *Request) refuseTooLarge() {
	r.refuse(CodePayloadTooLarge, fmt.Sprintf("the request body is larger than %d bytes", r.ctx.maxBody))
}

// onTick looks after a request that waits: for the first fleet, for the state
// service, or for its body.
func (r *Request) onTick(ev *Event) {
	switch r.phase {
	case phaseBody:
		r.onBodyTick(ev)
	case phaseFleet:
		r.route(ev.Now, r.asked)
	case phaseObserve:
		if ev.Now >= r.deadline {
			r.observed(ev.Now, nil, ObservesLate)
		}
	case phaseBind:
		if ev.Now >= r.deadline {
			r.unbound(ev.Now, BindsLate)
		}
	case phaseNew, phasePassed, phaseRouted, phaseAnswered, phaseOver:
	}
}

// onBodyTick looks after a body that the host may never show and the client may
// take too long to send.
func (r *Request) onBodyTick(ev *Event) {
	if r.ctx.headerOnly || r.proven(ev) {
		r.latch()
		r.routeByHeaders(ev)
		return
	}
	if ev.Now >= r.deadline {
		r.refuse(CodeBodyTimeout, "the request body did not arrive in time")
	}
}

// proven reports whether the host has received body bytes and shown none: it
// pauses headers without calling back for the body. A slow client is no proof,
// and a host that has ever shown a body never is (design section 7).
func (r *Request) proven(ev *Event) bool {
	return !r.ctx.bodySeen && r.received.Known && ev.Received.Known && ev.Received.N > r.received.N
}

func (r *Request) latch() {
	if r.ctx.headerOnly {
		return
	}
	r.ctx.headerOnly = true
	r.ctx.Counters.add(HeaderOnlyLatched)
}

// routeByHeaders decides without a body: the model from its header, or the only
// one there is; the prompt length from the announced body length. A body sent in
// chunks announces none.
func (r *Request) routeByHeaders(ev *Event) {
	model := r.model
	if r.dialect == chat.DialectGenerate {
		model = r.ctx.generate
	}
	if model == "" {
		if only, ok := r.ctx.Router.Only(); ok {
			model = only
		}
	}
	if model == "" {
		r.refuse(CodeBadRequest, "the router cannot read request bodies on this proxy; name the model in the header x-pointsman-model")
		return
	}
	r.ctx.Counters.add(HeaderOnlyRouted)
	r.receipt.Source = receipt.SourceContentLength
	if !r.length.Known {
		r.receipt.Source = receipt.SourceUnknown
	}
	r.route(ev.Now, ask{model: model, input: max(1, r.length.N/4)})
}
