package convert

// Names of policies upstream.
const (
	roundRobin   = "round_robin"
	powerOfTwo   = "power_of_two"
	powerOfN     = "power_of_n"
	loadBased    = "load_based"
	sessionAware = "session_aware"
	sticky       = "sticky"
	cacheAware   = "cache_aware"

	sourceRemote = "remote" // of cache_aware
)

// policyFlags choose policies, filters before them, and breakers.
func policyFlags() []Flag {
	scores := why{"is dropped: policies do not add up scores", "--policy power_of_n or cache_aware"}
	return []Flag{
		{
			Name: "--chat-routing", Value: "MODE", Default: "legacy", kind: kindText, choices: []string{"legacy", "reorg"}, Fate: Converted,
			To: "nothing: there is one kind of routing, that of `reorg`",
		},
		{
			Name: "--policy", Value: "NAME", Default: roundRobin + ", with --chat-routing reorg " + powerOfN, kind: kindText, attaches: true, Fate: Converted, To: "`policy.type` of plain and prefill groups",
			choices: []string{roundRobin, "random", powerOfTwo, powerOfN, loadBased, "fused_score", "score_policy", sessionAware, cacheAware, sticky},
			dropped: map[string]why{"fused_score": scores, "score_policy": scores},
		},
		{
			Name: "--decode-policy", Value: "NAME", Default: powerOfTwo + ", with --chat-routing reorg " + powerOfN, Rule: "with prefill and decode engines", kind: kindText, attaches: true, Fate: Converted, To: "`policy.type` of decode groups",
			choices: []string{powerOfTwo, powerOfN, "legacy_host_affinity"},
			dropped: map[string]why{"legacy_host_affinity": {"is dropped: decode engines are chosen by load", "--decode-policy power_of_two"}},
		},
		{Name: "--power-of-n-choices", Value: "N", Default: "2", Rule: "at least 1", kind: kindCount, good: atLeastOne, policies: []string{powerOfN}, attaches: true, Fate: Converted, To: "`policy.choices`"},
		{
			Name: "--bucket-config", Value: "FILE", Rule: "without --chat-routing reorg", kind: kindText, attaches: true, Fate: Converted,
			To: "`buckets`; prefill and decode entries only as `--pair PREFILL_ID=DECODE_ID` of hostsim associates them",
		},
		{Name: "--fuse", Value: "TERM=WEIGHT...", kind: kindList, attaches: true, Fate: Refused, Reason: scores.reason, To: scores.instead},
		{
			Name: "--filter", Value: "NAME...", Rule: "overloaded needs --max-in-flight", kind: kindList, attaches: true, Fate: Converted, To: "`admission.max_inflight_requests` of every policy",
			choices: []string{"overloaded", "prefix_cache"},
			dropped: map[string]why{"prefix_cache": {"is dropped: no policy filters by prefix share, and the minimum hit of cache_aware is not the same", "--policy cache_aware, if its --cache-affinity-min-match-ratio will do"}},
		},
		{Name: "--max-in-flight", Value: "N", Rule: "at least 1, with --filter overloaded", kind: kindCount, good: atLeastOne, needs: "--filter overloaded", attaches: true, Fate: Converted, To: "`admission.max_inflight_requests` of every policy"},
		{
			Name: "--prefix-cache-min-share", Value: "SHARE", kind: kindNumber, attaches: true, Fate: Refused,
			Reason: "is dropped: no policy filters by prefix share", To: "--policy cache_aware, if its --cache-affinity-min-match-ratio will do",
		},
		{Name: "--cb-threshold", Value: "N", Default: "3", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Converted, To: "`breaker.threshold`"},
		{Name: "--cb-cool-down-secs", Value: "SECS", Default: "30", Rule: "at least 1, with --cb-threshold", kind: kindCount, good: atLeastOne, needs: "--cb-threshold", Fate: Converted, To: "`breaker.cool_down_ms`, in milliseconds"},
	}
}

// sessionFlags tune session_aware and sticky.
func sessionFlags() []Flag {
	session, routing := []string{sessionAware}, []string{sticky}
	global := why{"is dropped: a session is bound in each bucket and stage, there are no global modes", "--session-affinity-mode bucket"}
	return []Flag{
		{Name: "--session-id-header", Value: "HEADER", Default: "x-session-id", kind: kindText, policies: session, attaches: true, Fate: Converted, To: "`session.header`"},
		{Name: "--session-idle-secs", Value: "SECS", Default: "600", Rule: "at least 1", kind: kindCount, good: atLeastOne, policies: session, attaches: true, Fate: Converted, To: "`session.idle_secs`"},
		{
			Name: "--session-eviction-interval-secs", Value: "SECS", Default: "60", Rule: "at least 1", kind: kindCount, good: atLeastOne, policies: session, attaches: true, Fate: Outside,
			To: stateService + "it drops idle bindings in its own time",
		},
		{Name: "--stable-pair", kind: kindSwitch, attaches: true, Fate: Refused, Reason: "is dropped: a policy gives one engine and no backup", To: "leave it out"},
		{
			Name: "--affinity-mode", Value: "MODE", Default: "soft", kind: kindText, choices: []string{"soft", "strict"}, policies: session, attaches: true, Fate: Converted, To: "nothing: `strict` is the only behaviour",
			dropped: map[string]why{"soft": {"is dropped: a binding is reused whenever its engine is admitted", "--affinity-mode strict"}},
		},
		{
			Name: "--session-affinity-mode", Value: "MODE", Default: "bucket", kind: kindText, choices: []string{"bucket", "global-rebind", "global-preserve"}, policies: session, attaches: true, Fate: Converted, To: "nothing: `bucket` is the only behaviour",
			dropped: map[string]why{"global-rebind": global, "global-preserve": global},
		},
		{Name: "--routing-key-header", Value: "HEADER", Default: "x-sgl-routing-key", kind: kindText, policies: routing, attaches: true, Fate: Converted, To: "`routing_key.header`"},
		{Name: "--sticky-fallback-policy", Value: "NAME", Default: roundRobin, kind: kindText, choices: []string{roundRobin, "random", powerOfTwo, loadBased}, policies: routing, attaches: true, Fate: Converted, To: "`policy.fallback`"},
		{Name: "--sticky-idle-secs", Value: "SECS", Default: "600", Rule: "at least 1", kind: kindCount, good: atLeastOne, policies: routing, attaches: true, Fate: Converted, To: "`routing_key.idle_secs`"},
		{
			Name: "--sticky-eviction-interval-secs", Value: "SECS", Default: "60", Rule: "at least 1", kind: kindCount, good: atLeastOne, policies: routing, attaches: true, Fate: Outside,
			To: stateService + "it drops idle bindings in its own time",
		},
	}
}
