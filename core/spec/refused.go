package spec

import (
	"strconv"
	"strings"
)

// refusal is why something that other routers read cannot be honoured, and what
// to write instead.
type refusal struct{ reason, fix string }

// refusedKey finds keys that must not pass for typing errors: what POLICY_DESIGN
// section 7 drops, what other files spell otherwise, and what is to come. Flags
// may be written as keys in their own spelling.
func refusedKey(key string) (refusal, bool) {
	name := strings.ReplaceAll(strings.TrimLeft(key, "-"), "-", "_")
	for _, table := range []map[string]refusal{droppedKeys(), renamedKeys()} {
		if r, ok := table[name]; ok {
			return r, true
		}
	}
	switch name {
	case "ttft_slo", "tps_slo", "sampling":
		return refusal{"belongs to a model", `write it into "models": {"<name>": {...}}`}, true
	case "ttft_ms", "tokens_per_second":
		return refusal{"belongs to a bucket", `write it into "buckets": [{...}]`}, true
	case "session", "routing_key":
		return refusal{"belongs to the top level", "write it beside \"models\""}, true
	case "kv_indexer", "worker_services",
		"min_load_choices", "session_affinity_mode", "idle_secs", "eviction_interval_secs", "dp_aware", "observe_max_body":
		return refusal{"is not in this version", "leave it out"}, true
	}
	return refusal{}, false
}

// droppedKeys are the options that POLICY_DESIGN section 7 drops.
func droppedKeys() map[string]refusal {
	scores := refusal{"is dropped: policies do not add up scores", `use "policy": {"type": "power_of_two"}`}
	return map[string]refusal{
		"fuse":         scores,
		"fused_score":  scores,
		"score_policy": scores,
		"stable_pair":  {"is dropped: a policy gives one engine and no backup", `leave it out, or use "power_of_two"`},
		"affinity_mode": {
			"is dropped: a binding is reused whenever its engine is admitted, there is no soft mode", "leave it out",
		},
		"prefix_cache_min_share": {
			"is dropped: no policy filters by prefix share", `leave it out; caps of "admission" keep an engine from filling up`,
		},
		"filter": {
			"is dropped: there are no filters before a policy",
			`for "overloaded" write "admission": {"max_inflight_requests": ...} in the policy; "prefix_cache" has no replacement`,
		},
	}
}

// renamedKeys are settings that this configuration spells otherwise.
func renamedKeys() map[string]refusal {
	renamed := func(to string) refusal { return refusal{"is spelled otherwise here", "use " + to} }
	return map[string]refusal{
		"max_in_flight":      renamed(`"admission": {"max_inflight_requests": ...} in the policy`),
		"min_input_tokens":   renamed(`"limits": {"min": ...}`),
		"max_input_tokens":   renamed(`"limits": {"max": ...}`),
		"power_of_n_choices": renamed(`"choices" in the policy`),
		"decode_policy":      renamed(`"groups": {"pd": {"decode": {"policy": ...}}}`),
		"bucket_config":      renamed(`"models": {"<name>": {"buckets": [...]}}`),
		"cb_threshold":       renamed(`"breaker": {"threshold": ...}`),
		"cb_cool_down_secs":  renamed(`"breaker": {"cool_down_ms": ...}, in milliseconds`),
		"session_id_header":  renamed(`"session": {"header": ...}`),
		"routing_key_header": renamed(`"routing_key": {"header": ...}`),
		"mode":               renamed(`a key "plain" or "pd" with the groups below it`),
	}
}

// refusedPolicy explains why a policy name cannot be honoured: the dropped ones
// of POLICY_DESIGN section 7 with their replacement, and names nobody knows.
func refusedPolicy(name string) refusal {
	quoted := strconv.Quote(name)
	switch name {
	case "fused_score", "score_policy":
		return refusal{quoted + " is dropped: policies do not add up scores", "use power_of_two"}
	case "legacy_host_affinity":
		return refusal{quoted + " is dropped", "use power_of_two on decode groups"}
	case "session_aware", "sticky", "cache_aware":
		return refusal{quoted + " is not in this version", use(policies()...)}
	case "power_of_n":
		return refusal{quoted + " is spelled power_of_two here", `use "type": "power_of_two" with "choices"`}
	}
	if near, ok := nearest(name, policies()); ok {
		return refusal{quoted + " is not a policy", "did you mean " + strconv.Quote(near) + "?"}
	}
	return refusal{quoted + " is not a policy", use(policies()...)}
}
