package flow

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// maxScopes bounds the scopes of one request. Groups beyond it, in the order of
// Wants, find their bindings unavailable.
const maxScopes = 64

// observe asks the state service what the model's policies read, and reports
// whether the request waits for it or was answered. Nothing to ask: false, and
// the request goes on at once.
func (r *Request) observe(target spec.Target, a ask) bool {
	wants := r.ctx.wants(target.Model)
	tokens := r.asksLength(target, &a, wants.Lengths)
	r.ranked = wants.AlwaysRanked
	ids := r.asksInputIDs(target, wants.InputIDs, &a)
	if len(wants.Prefixes) == 0 && !tokens && ids == 0 && !r.keyed(wants.Scopes) {
		return false
	}
	if _, ok := r.targets(target.Resolver.Preferences()); !ok {
		return true
	}
	m := r.remember(target)
	r.addScopes(m, wants.Scopes)
	m.observe.Context, m.observe.Model, m.observe.Asked = r.ctx.state.Key, target.Model, target.Asked
	m.observe.Path = r.ctx.pathOf(r.dialect)
	m.observe.TimeoutMillis = uint32(r.ctx.state.ObserveWithin)
	m.observe.Tokens, m.observe.InputIDs, m.output = tokens, ids, a.output
	body := len(wants.Prefixes) > 0 || tokens || ids > 0
	switch {
	case a.size > r.ctx.state.ObserveMaxBody:
		m.unasked, body = "the request body is too large to look its prefix up", false
	case a.size == 0:
		m.unasked, body = "the request body was not seen", false
	default:
		m.unasked = "the state service gave no answer"
	}
	if body {
		m.observe.Sources = wants.Prefixes
	} else if len(m.observe.Scopes) == 0 {
		return false // the prefix was all there is to ask
	}
	// The body belongs to the event, so what is kept of it is a copy.
	r.bucket.Prompt = strings.Clone(r.bucket.Prompt[:min(len(r.bucket.Prompt), wants.PromptBytes)])
	effect := Effect{Kind: EffectObserve, Observe: &m.observe, WithBody: body}
	r.wait(phaseObserve, effect, r.bucket.Now+r.ctx.state.ObserveWithin)
	return true
}

// keyed reports whether the request has a key of a kind that a policy follows.
func (r *Request) keyed(scopes []policy.Scope) bool {
	return slices.ContainsFunc(scopes, func(s policy.Scope) bool { return r.keyOf(s.Kind) != "" })
}

func (r *Request) keyOf(kind policy.KeySource) string {
	switch kind {
	case policy.KeySession:
		return r.bucket.SessionKey
	case policy.KeyRouting:
		return r.bucket.RoutingKey
	case policy.KeyPrefix:
	}
	return ""
}

// addScopes lists the scopes of all groups that could serve the request.
func (r *Request) addScopes(m *memo, scopes []policy.Scope) {
	for _, s := range scopes {
		if s.Key = r.keyOf(s.Kind); s.Key == "" {
			continue
		}
		if len(m.entries) == maxScopes {
			return
		}
		e := entry{scope: s, digest: r.ctx.digest(&s), idle: r.ctx.state.idle(s.Kind)}
		m.entries = append(m.entries, e)
		m.observe.Scopes = append(m.observe.Scopes, e.wire())
	}
}

// wait holds the request until a call is answered or its deadline is past.
func (r *Request) wait(p phase, effect Effect, deadline core.Instant) {
	r.ctx.calls++
	r.memo.call = r.ctx.calls
	effect.Call = r.memo.call
	r.phase, r.deadline = p, deadline
	r.effects = append(r.effects, effect)
	r.emit(EffectPause)
}

func (r *Request) onObserved(ev *Event) {
	if r.phase != phaseObserve || ev.Call != r.memo.call {
		return
	}
	if ev.Observed == nil {
		r.observed(ev.Now, nil, ObservesUnavailable)
		return
	}
	r.observed(ev.Now, ev.Observed, ObservesAnswered)
}

// observed goes on with what the service knows, nothing when it did not answer.
func (r *Request) observed(now core.Instant, reply *wire.ObserveReply, outcome Counter) {
	r.ctx.Counters.add(outcome)
	r.bucket.Now = now
	m := r.memo
	if reply == nil {
		reply = &wire.ObserveReply{}
	}
	for i := range m.entries {
		e := &m.entries[i]
		if e.set(bindingOf(reply.Bindings, e.digest)); e.State == policy.BindingUnavailable {
			r.recall(e)
			continue
		}
		r.ctx.recent.put(e.digest, e.Worker)
	}
	for i := range reply.Lookups {
		if slices.Contains(m.observe.Sources, reply.Lookups[i].Source) {
			m.lookups = append(m.lookups, newLookup(&reply.Lookups[i]))
		}
	}
	if len(m.entries) > 0 {
		r.bucket.Placed = m
	}
	r.toldInputIDs(reply)
	if !m.observe.Tokens || r.counted(reply.Tokens, reply.Uncounted) {
		r.choose(m.target)
	}
}

// recall takes what the context remembers of a scope that nobody could be asked
// about, while that engine takes requests: otherwise the policy must see that
// nothing is known (design section 7).
func (r *Request) recall(e *entry) {
	id, ok := r.ctx.recent.get(e.digest)
	if !ok {
		return
	}
	serving := r.ctx.Fleet.Serving(r.memo.target.Asked)
	at, ok := core.FindWorker(serving, id)
	if !ok {
		return
	}
	if w, now := serving[at], r.bucket.Now; r.ctx.Fleet.Available(w, now) || r.ctx.Fleet.Drains(w, now) {
		e.Binding, e.remembered = policy.Binding{State: policy.BindingBound, Worker: id}, true
	}
}
