package render

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/core/spec"
)

// HeaderOnly refuses what a filter that never sees a body cannot do: everything for
// which the prompt, its length in tokens or another member of the body is needed.
// whole names the way out that keeps the configuration as it is, like a flag to
// leave out; each refusal names it and the setting that does without the body.
//
// What is left goes by headers: the model by x-pointsman-model, keys by theirs, and
// the length of a prompt by content-length where "tokens" is "estimate".
func HeaderOnly(c *spec.Config, whole string) (refused Refusals) {
	b := bodies{whole: whole}
	b.keys("session", c.Session)
	b.keys("routing_key", c.RoutingKey)
	if c.Abort != nil {
		b.add("abort", "no abort", "engines are told of requests by the rid that the filter writes into their bodies")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m := c.Models[name]
		b.model("models."+name, &m, c.State != nil)
	}
	return b.refused
}

// bodies collects what needs bodies.
type bodies struct {
	whole   string
	refused Refusals
}

func (b *bodies) add(path, without, reason string) {
	b.refused.Add(path, b.whole+", or "+without, "%s, and with headers alone the filter never sees a body", reason)
}

func (b *bodies) keys(path string, h *spec.KeyHeader) {
	if h != nil && h.BodyFields != nil && len(*h.BodyFields) > 0 {
		b.add(path+".body_fields", "the key in the header alone", "the key stands in the body")
	}
}

func (b *bodies) model(path string, m *spec.Model, state bool) {
	if m.Sampling != nil {
		b.add(path+".sampling", "no sampling", "sampling parameters stand in the body")
	}
	if m.InputIDs != nil {
		b.add(path+".input_ids", "no input_ids", "token ids are written into the body")
	}
	if state && bounded(m) && m.Tokens != spec.TokensEstimate {
		b.add(path+".tokens", `"tokens": "estimate", which goes by content-length`, "the tokens of a prompt are counted")
	}
	b.policy(path+".policy", m.Policy)
	b.policy(path+".prefill_policy", m.PrefillPolicy)
	b.policy(path+".decode_policy", m.DecodePolicy)
	for i := range m.Buckets {
		b.bucket(fmt.Sprintf("%s.buckets[%d]", path, i), &m.Buckets[i])
	}
}

func bounded(m *spec.Model) bool {
	return slices.ContainsFunc(m.Buckets, func(b spec.Bucket) bool { return b.Limits != nil || b.MaxContextTokens != nil })
}

func (b *bodies) bucket(path string, k *spec.Bucket) {
	if k.MaxContextTokens != nil {
		b.add(path+".max_context_tokens", "limits alone", "the output that a request asks for stands in its body")
	}
	if k.Groups.Plain != nil {
		b.policy(path+".groups.plain.policy", k.Groups.Plain.Policy)
	}
	if k.Groups.PD != nil {
		b.add(path+".groups.pd", "plain groups", "the engines of a pair find each other by what the filter writes into the body")
	}
}

func (b *bodies) policy(path string, p *spec.Policy) {
	switch {
	case p == nil:
	case p.Type == spec.PolicyCacheAware:
		b.add(path, `"type": "session_aware" or "power_of_two"`, "cache_aware goes by the prompt")
	case p.Type == spec.PolicyConsistentHash && p.Key == "prefix":
		b.add(path+".key", `"key": "session"`, "the start of the prompt is hashed")
	}
}
