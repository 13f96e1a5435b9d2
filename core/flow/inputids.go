package flow

import (
	"strconv"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// idsOutcome is what became of forwarding a chat with its token ids: a verdict of the
// state service, or why the filter did not use the ids it was given.
type idsOutcome uint8

// The outcomes beside the verdicts.
const (
	idsEngine = idsOutcome(wire.InputIDsTooLong) + 1 + iota // the engine does not read ids there
	idsOutcomeCount
)

// String gives the outcome's name in metrics: those of engine-selection.md 12.5, and our
// own.
func (o idsOutcome) String() string {
	if o == idsEngine {
		return "engine"
	}
	names := [...]string{
		wire.InputIDsUnavailable:           "unavailable",
		wire.InputIDsGiven:                 "forwarded",
		wire.InputIDsCaller:                "caller_input_ids",
		wire.InputIDsNoMessages:            "no_messages",
		wire.InputIDsTools:                 "tools",
		wire.InputIDsNonTextContent:        "non_text_content",
		wire.InputIDsReasoningContent:      "reasoning_content",
		wire.InputIDsRoleRewrite:           "role_rewrite",
		wire.InputIDsTemplateControls:      "template_controls",
		wire.InputIDsAssistantContinuation: "assistant_continuation",
		wire.InputIDsTokenizeFailed:        "tokenize_failed",
		wire.InputIDsUnverified:            "unverified",
		wire.InputIDsTooLong:               "too_long",
	}
	return names[min(int(o), len(names)-1)]
}

// inputIDs is the forwarding of one chat with its token ids.
type inputIDs struct {
	most  uint32     // ids that are wanted; 0 when the request is none to forward so
	place chat.Place // in the body
	told  wire.InputIDs
	added Insertion // into the body; no text for none
}

// asksInputIDs says how many ids the state service is to be asked for, 0 for none: of a
// chat of a model that is forwarded so, whose body can be shown to it.
func (r *Request) asksInputIDs(target spec.Target, most uint32, a *ask) uint32 {
	if most == 0 || r.dialect != chat.DialectChat {
		return 0
	}
	r.ids.most, r.ids.place = most, a.parameters.place
	switch {
	case a.size > r.ctx.state.ObserveMaxBody:
		r.ids.told.Verdict = wire.InputIDsTooLong
		return 0
	case a.size == 0 || r.bucket.Now < r.ctx.gaugeOf(target.Model).quiet:
		return 0
	}
	return most
}

// toldInputIDs takes what the state service says of the chat's ids. One that has nothing
// to tell them by is not asked again for a while.
func (r *Request) toldInputIDs(reply *wire.ObserveReply) {
	m := r.memo
	if m.observe.InputIDs == 0 {
		return
	}
	r.ids.told = reply.InputIDs
	if reply.Uncounted {
		r.ctx.gaugeOf(m.target.Model).quiet = r.bucket.Now + recount
	}
}

// forwardInputIDs makes the ids a part of the body, once it is known which engines may
// get it, and counts what became of it.
func (r *Request) forwardInputIDs() {
	ids := &r.ids
	if ids.most == 0 {
		return
	}
	outcome := idsOutcome(ids.told.Verdict)
	if ids.told.Verdict == wire.InputIDsGiven {
		switch {
		case len(ids.told.IDs) == 0:
			outcome = idsOutcome(wire.InputIDsUnavailable)
		case uint64(len(ids.told.IDs)) > uint64(ids.most):
			outcome = idsOutcome(wire.InputIDsTooLong)
		case !r.takeInputIDs():
			outcome = idsEngine
		default:
			ids.added = Insertion{ids.place.At, ids.place.Text(memberOf(ids.told.IDs))}
		}
	}
	ids.told.IDs = nil
	r.ctx.Counters[firstInputIDs+Counter(outcome)]++
}

// takeInputIDs reports whether all engines that the host may send the request to read
// ids beside messages.
func (r *Request) takeInputIDs() bool {
	for _, w := range r.named[:1+r.spares] {
		if !w.InputIDs {
			return false
		}
	}
	return true
}

// memberOf writes the member of the body.
func memberOf(ids []uint32) string {
	const digits = 7 // of an id with its comma, as vocabularies have them
	b := make([]byte, 0, len(ids)*digits+16)
	b = append(b, `"input_ids":[`...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return string(append(b, ']'))
}
