package convert

import (
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/spec"
)

// policyName is the policy in use for plain and prefill engines, empty when a
// file attaches policies.
func (c *converter) policyName() string {
	switch {
	case c.line.has("--policy"):
		return c.line.text("--policy")
	case c.line.has("--reorg-config"):
		return ""
	case c.line.text("--chat-routing") == "reorg":
		return powerOfN
	}
	return roundRobin
}

func (c *converter) decodePolicyName() string {
	switch {
	case c.line.has("--decode-policy"):
		return c.line.text("--decode-policy")
	case c.line.text("--chat-routing") == "reorg":
		return powerOfN
	}
	return powerOfTwo
}

// pd reports whether the fleet has prefill and decode engines.
func (c *converter) pd() bool {
	return c.line.has("--prefill-selector") || c.line.has("--decode-selector") || c.line.has("--bucket-config") && len(c.options.Pairs) > 0
}

// defaultBuckets are the catch-all buckets of engine-selection.md 2.8.
func (c *converter) defaultBuckets() []bucket {
	var list []bucket
	if !c.pd() || c.line.has("--selector") {
		list = append(list, bucket{ID: "plain", Groups: groups{Plain: &group{Policy: c.policy()}}})
	}
	if c.pd() {
		pair := &pd{Prefill: group{Policy: c.policy()}, Decode: group{Policy: c.decodePolicy()}}
		list = append(list, bucket{ID: "pd", Rank: uint32(len(list)), Groups: groups{PD: pair}})
	}
	return list
}

// policy is that of plain and prefill groups.
func (c *converter) policy() policy {
	p := c.named(c.policyName())
	switch p.Type {
	case sessionAware:
		c.sessionNotes()
	case sticky:
		if f := c.line.text("--sticky-fallback-policy"); f != roundRobin {
			p.Fallback = f
		}
	case cacheAware:
		c.caching(&p)
	}
	return p
}

func (c *converter) decodePolicy() policy { return c.named(c.decodePolicyName()) }

// named makes a policy by its upstream name. A refused one is stood in for by
// power_of_two, so that the rest can be checked.
func (c *converter) named(name string) policy {
	p := policy{Type: name, Admission: c.admission()}
	switch name {
	case powerOfN:
		p.Type, p.Choices = spec.PolicyPowerOfTwo, c.count("--power-of-n-choices", 2)
	case "fused_score", "score_policy", "legacy_host_affinity":
		p.Type = spec.PolicyPowerOfTwo
	}
	if p.Type == spec.PolicyPowerOfTwo && p.Admission != nil {
		c.note("--max-in-flight", "power_of_two asks only the engine it has chosen; where a full one is to be passed over for another of its group, use load_based or round_robin")
	}
	return p
}

// admission is that of --filter overloaded; nested fallbacks have none.
func (c *converter) admission() *admission.Limits {
	if !slices.Contains(c.line.texts("--filter"), "overloaded") || !c.line.has("--max-in-flight") {
		return nil
	}
	n := c.line.given["--max-in-flight"].count
	return &admission.Limits{MaxInflightRequests: &n}
}

func (c *converter) sessionNotes() {
	if !c.line.has("--affinity-mode") && c.line.text("--chat-routing") != "reorg" {
		c.note("--policy session_aware", "the former default --affinity-mode soft is gone: a session stays on its engine while that is admitted, and pressure does not move it")
	}
}

// caching takes over the tuning of cache_aware.
func (c *converter) caching(p *policy) {
	if c.line.has("--kv-indexer-endpoint") {
		c.remote(p, "--kv-indexer-endpoint", c.line.text("--kv-indexer-endpoint"))
	}
	p.MinMatchedTokens = c.count("--cache-affinity-min-matched-tokens", 1024)
	p.MinMatchRatio = c.number("--cache-affinity-min-match-ratio", -1)
	p.CandidateMinWorkers = c.count("--cache-candidate-min-workers", 8)
	p.CandidateRatio = c.number("--cache-candidate-ratio", 0.05)
	p.CandidateMaxWorkers = c.count("--cache-candidate-max-workers", 32)
	p.SwitchMarginTokens = c.count("--cache-switch-margin-tokens", 1024)
	p.WorkerQueueLimit = c.count("--worker-queue-limit", 0)
	p.SaturationQueueFloor = c.count("--saturation-queue-floor", 0)
	p.MinLoadChoices = c.count("--min-load-choices", 2)
	g := guard{
		AbsThresholdTokens: c.count("--pressure-abs-threshold-tokens", 1024),
		AbsThresholdMillis: c.number("--pressure-abs-threshold-ms", -1),
		RelThreshold:       c.number("--pressure-rel-threshold", 1.5),
	}
	switch {
	case c.line.has("--disable-pressure-guard"):
		p.PressureGuard = false
	case g != (guard{}):
		p.PressureGuard = g
	}
}

// remote makes a policy go by an indexer, which the state service asks.
func (c *converter) remote(p *policy, flag, url string) {
	p.Source = sourceRemote
	c.note(flag, "the state service asks the indexer: write %q into `kv.remote.endpoints` of its configuration (configs/statesvc/ask-indexer.yaml), and see `tokenize` there, which tells the tokens that are looked up", url)
}

// count is the value of a flag, nil when it is not given or the default.
func (c *converter) count(name string, def uint64) *uint64 {
	if g := c.line.given[name]; g != nil && g.count != def {
		return &g.count
	}
	return nil
}

func (c *converter) number(name string, def float64) *float64 {
	if g := c.line.given[name]; g != nil && g.number != def {
		return &g.number
	}
	return nil
}

func formatCount(n uint64) string { return strconv.FormatUint(n, 10) }
