package convert

// laterFlags are those of newer sources, [N] in engine-selection.md.
func laterFlags() []Flag {
	return []Flag{
		{Name: "--dp-aware", kind: kindSwitch, needs: "--service-discovery", Fate: Converted, To: "`dp_ranks`: always of the model; how many ranks an engine has is for the state service to find out"},
		{Name: "--no-tokenizer", kind: kindSwitch, Fate: Outside, To: stateService + "without `tokenize` it has no tokenizer, and prompt lengths are a quarter of the body's bytes"},
		{Name: "--kv-peer-selector", Value: "TERM...", kind: kindList, Fate: Outside, To: stateService + "all proxies share its index, there are no router peers"},
		{Name: "--kv-bootstrap-timeout-ms", Value: "MS", kind: kindCount, Fate: Outside, To: stateService + "all proxies share its index, there are no router peers"},
		{Name: "--reorg-config", Value: "FILE", Rule: "without flags that choose or tune policies", kind: kindText, Fate: Converted, To: "`buckets`, `ttft_slo` and `tps_slo` of the model, `session`"},
	}
}

// branchFlags are those of other branches, [B] in engine-selection.md.
func branchFlags() []Flag {
	profile := why{"is not in this version: bodies are not held to a profile", "--override-sampling-params for sampling; aliases of the model and max_body_bytes are keys of the configuration"}
	return []Flag{
		{
			Name: "--max-concurrent-requests-per-worker", Value: "N", kind: kindCount, Fate: Refused,
			Reason: "is a cap with a queue before it, and the filter has no queue", To: "--filter overloaded --max-in-flight N, which answers 503 at the cap",
		},
		{
			Name: "--max-queued-requests", Value: "N", kind: kindCount, Fate: Refused,
			Reason: "has no counterpart: the filter has no queue", To: "leave it out; a fleet at its caps answers 503",
		},
		{Name: "--enable-retry", kind: kindSwitch, Fate: Converted, To: "`transport_retry`: true"},
		{Name: "--tokenizer-shards", Value: "N", kind: kindCount, Fate: Outside, To: stateService + "its tokenizers (`tokenize`) need no shards, all requests share them"},
		{Name: "--api-profile", Value: "NAME", kind: kindText, Fate: Refused, Reason: profile.reason, To: profile.instead},
		{Name: "--api-profile-file", Value: "FILE", kind: kindText, Fate: Refused, Reason: profile.reason, To: profile.instead},
		{
			Name: "--max-output-tokens", Value: "N", kind: kindCount, Fate: Refused,
			Reason: "has no counterpart: no cap on output alone", To: "max_context_tokens of a bucket in --reorg-config, which bounds input plus output",
		},
	}
}
