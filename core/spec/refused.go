package spec

import (
	"reflect"
	"slices"
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
	case "policy":
		return refusal{"belongs to a group, or to a model for all its groups", `write it into "plain", "prefill" or "decode", or into "models": {"<name>": {...}}`}, true
	case "ttft_slo", "tps_slo", "sampling", "prefill_policy", "decode_policy", "input_ids", "dp_ranks":
		return refusal{"belongs to a model", `write it into "models": {"<name>": {...}}`}, true
	case "ttft_ms", "tokens_per_second":
		return refusal{"belongs to a bucket", `write it into "buckets": [{...}]`}, true
	case "session", "routing_key":
		return refusal{"belongs to the top level", "write it beside \"models\""}, true
	case "idle_secs", "body_fields":
		return refusal{"belongs to a kind of key", `write it into "session" or "routing_key" at the top level`}, true
	case "eviction_interval_secs", "session_eviction_interval_secs", "sticky_eviction_interval_secs":
		return refusal{"belongs to the state service, which drops idle bindings in its own time", "leave it out"}, true
	case "session_affinity_mode":
		return refusal{"is dropped: a session is bound in each bucket and stage, there are no global modes", "leave it out"}, true
	case "worker_ids", "worker_services":
		return refusal{"belongs to a group", `write it into "plain", "prefill" or "decode"`}, true
	case "engine":
		return refusal{"belongs to a worker", `write it into "workers": [{...}]; of others the state service finds it out`}, true
	case "version_group", "services":
		return refusal{"belongs to a worker", `write it into "workers": [{...}], or into the state service's configuration`}, true
	case "kv_indexer", "observe_max_body":
		return refusal{"is not in this version", "leave it out"}, true
	}
	if slices.Contains(keysOf(reflect.TypeFor[Policy]()), name) {
		return refusal{"belongs to a policy", `write it into "policy": {...}`}, true
	}
	if slices.Contains(keysOf(reflect.TypeFor[Guard]()), name) {
		return refusal{"belongs to the pressure guard", `write it into "pressure_guard": {...} of a cache_aware policy`}, true
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
		"dp_aware":           renamed(`"dp_ranks": "always" in a model`),
		"min_input_tokens":   renamed(`"limits": {"min": ...}`),
		"max_input_tokens":   renamed(`"limits": {"max": ...}`),
		"power_of_n_choices": renamed(`"choices" in the policy`),
		"bucket_config":      renamed(`"models": {"<name>": {"buckets": [...]}}`),
		"cb_threshold":       renamed(`"breaker": {"threshold": ...}`),
		"cb_cool_down_secs":  renamed(`"breaker": {"cool_down_ms": ...}, in milliseconds`),
		"session_id_header":  renamed(`"session": {"header": ...}`),
		"routing_key_header": renamed(`"routing_key": {"header": ...}`),
		"mode":               renamed(`a key "plain" or "pd" with the groups below it`),

		"session_idle_secs":                 renamed(`"session": {"idle_secs": ...}`),
		"sticky_idle_secs":                  renamed(`"routing_key": {"idle_secs": ...}`),
		"sticky_fallback_policy":            renamed(`"fallback" in a sticky policy`),
		"cache_affinity_min_matched_tokens": renamed(`"min_matched_tokens" in a cache_aware policy`),
		"cache_affinity_min_match_ratio":    renamed(`"min_match_ratio" in a cache_aware policy`),
		"cache_candidate_min_workers":       renamed(`"candidate_min_workers" in a cache_aware policy`),
		"cache_candidate_ratio":             renamed(`"candidate_ratio" in a cache_aware policy`),
		"cache_candidate_max_workers":       renamed(`"candidate_max_workers" in a cache_aware policy`),
		"cache_switch_margin_tokens":        renamed(`"switch_margin_tokens" in a cache_aware policy`),
		"cache_prefix_provider":             renamed(`"source" in a cache_aware policy`),
		"disable_pressure_guard":            renamed(`"pressure_guard": false in a cache_aware policy`),
		"pressure_abs_threshold_tokens":     renamed(`"pressure_guard": {"abs_threshold_tokens": ...} in a cache_aware policy`),
		"pressure_abs_threshold_ms":         renamed(`"pressure_guard": {"abs_threshold_ms": ...} in a cache_aware policy`),
		"pressure_rel_threshold":            renamed(`"pressure_guard": {"rel_threshold": ...} in a cache_aware policy`),
	}
}

// refusedPolicy explains why a policy name cannot be honoured: the dropped ones
// of POLICY_DESIGN section 7 with their replacement, and names nobody knows.
func refusedPolicy(name string, offered []string) refusal {
	quoted := strconv.Quote(name)
	switch name {
	case "fused_score", "score_policy":
		return refusal{quoted + " is dropped: policies do not add up scores", "use power_of_two"}
	case "legacy_host_affinity":
		return refusal{quoted + " is dropped", "use power_of_two on decode groups"}
	case "power_of_n":
		return refusal{quoted + " is spelled power_of_two here", `use "type": "power_of_two" with "choices"`}
	}
	if near, ok := nearest(name, offered); ok {
		return refusal{quoted + " is not a policy", "did you mean " + strconv.Quote(near) + "?"}
	}
	return refusal{quoted + " is not a policy", use(offered...)}
}
