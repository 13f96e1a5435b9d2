package convert

import "math"

// cacheFlags tune cache_aware (engine-selection.md 9.1).
func cacheFlags() []Flag {
	flags := append(prefixFlags(), indexerFlags()...)
	for i := range flags {
		flags[i].policies, flags[i].attaches = []string{cacheAware}, true
	}
	return flags
}

func prefixFlags() []Flag {
	finite := func(low float64) func(float64) bool {
		return func(x float64) bool { return x >= low && !math.IsInf(x, 0) }
	}
	return []Flag{
		{Name: "--cache-affinity-min-matched-tokens", Value: "N", Default: "1024", kind: kindCount, Fate: Converted, To: "`policy.min_matched_tokens`"},
		{Name: "--cache-affinity-min-match-ratio", Value: "SHARE", Rule: "from 0 to 1", kind: kindNumber, good: share, Fate: Converted, To: "`policy.min_match_ratio`"},
		{Name: "--cache-candidate-min-workers", Value: "N", Default: "8", Rule: "at least 1, at most --cache-candidate-max-workers", kind: kindCount, good: atLeastOne, Fate: Converted, To: "`policy.candidate_min_workers`"},
		{Name: "--cache-candidate-ratio", Value: "SHARE", Default: "0.05", Rule: "from 0 to 1", kind: kindNumber, good: share, Fate: Converted, To: "`policy.candidate_ratio`"},
		{Name: "--cache-candidate-max-workers", Value: "N", Default: "32", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Converted, To: "`policy.candidate_max_workers`"},
		{Name: "--cache-switch-margin-tokens", Value: "N", Default: "1024", Rule: "without --disable-pressure-guard", kind: kindCount, Fate: Converted, To: "`policy.switch_margin_tokens`"},
		{Name: "--worker-queue-limit", Value: "N", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Converted, To: "`policy.worker_queue_limit`"},
		{Name: "--saturation-queue-floor", Value: "N", Rule: "at least 1, at most --worker-queue-limit, which it needs", kind: kindCount, good: atLeastOne, needs: "--worker-queue-limit", Fate: Converted, To: "`policy.saturation_queue_floor`"},
		{Name: "--min-load-choices", Value: "N", Default: "2", Rule: "at least 1; with --chat-routing reorg 2", kind: kindCount, good: atLeastOne, Fate: Converted, To: "`policy.min_load_choices`"},
		{Name: "--disable-pressure-guard", kind: kindSwitch, Fate: Converted, To: "`policy.pressure_guard`: false"},
		{Name: "--pressure-abs-threshold-tokens", Value: "N", Default: "1024", Rule: "without --disable-pressure-guard", kind: kindCount, Fate: Converted, To: "`policy.pressure_guard.abs_threshold_tokens`"},
		{Name: "--pressure-abs-threshold-ms", Value: "MS", Rule: "at least 0, without --disable-pressure-guard", kind: kindNumber, good: finite(0), Fate: Converted, To: "`policy.pressure_guard.abs_threshold_ms`"},
		{Name: "--pressure-rel-threshold", Value: "FACTOR", Default: "1.5", Rule: "above 1, without --disable-pressure-guard", kind: kindNumber, good: finite(math.Nextafter(1, 2)), Fate: Converted, To: "`policy.pressure_guard.rel_threshold`"},
	}
}

// indexerFlags ask for an index outside the router: the state service asks it here.
func indexerFlags() []Flag {
	return []Flag{
		{
			Name: "--cache-prefix-provider", Value: "NAME", Default: "radix_tree, with --kv-indexer-endpoint indexer", Rule: "indexer with --kv-indexer-endpoint, radix_tree without",
			kind: kindText, choices: []string{"radix_tree", "indexer"}, Fate: Converted, To: "`policy.source`: `local`, the default, or `remote`",
		},
		{
			Name: "--kv-indexer-endpoint", Value: "URL", kind: kindText, Fate: Converted,
			To: "`policy.source`: `remote`; the URL belongs into `kv.remote.endpoints` of the state service's configuration",
		},
		{Name: "--kv-indexer-query-timeout-ms", Value: "MS", Default: "100", Rule: "at least 1", kind: kindCount, good: atLeastOne, needs: "--kv-indexer-endpoint", Fate: Outside, To: stateService + "`kv.remote.timeout_ms` of its configuration"},
		{Name: "--kv-indexer-query-max-inflight", Value: "N", Default: "32", Rule: "at least 1", kind: kindCount, good: atLeastOne, needs: "--kv-indexer-endpoint", Fate: Outside, To: stateService + "`kv.remote.max_inflight` of its configuration"},
	}
}
