# What cache_aware refuses at start-up (engine-selection.md 9.1), each by its path.

config
{"models": {"m": {"buckets": [{"id": "a", "groups": {"plain": {"policy": {"type": "cache_aware",
  "min_match_ratio": 1.5, "candidate_min_workers": 40, "candidate_ratio": -1, "worker_queue_limit": 4, "saturation_queue_floor": 5,
  "min_load_choices": 0, "pressure_guard": {"rel_threshold": 1, "abs_threshold_ms": -1}}}}},
  {"id": "b", "groups": {"plain": {"policy": {"type": "cache_aware", "saturation_queue_floor": 2}}}},
  {"id": "c", "groups": {"plain": {"policy": {"type": "cache_aware", "pressure_guard": false, "switch_margin_tokens": 9}}}},
  {"id": "d", "groups": {"plain": {"policy": {"type": "power_of_two", "min_load_choices": 3, "worker_queue_limit": 4}}}},
  {"id": "e", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "elsewhere"}}}}]}}}
----
12 problems in the filter configuration
  models.m.buckets[0].groups.plain.policy.min_match_ratio: 1.5 is out of range; use a number from 0 to 1
  models.m.buckets[0].groups.plain.policy.candidate_ratio: -1 is out of range; use a number from 0 to 1
  models.m.buckets[0].groups.plain.policy.candidate_min_workers: at least 40 candidates of at most 32; set candidate_min_workers to candidate_max_workers or less
  models.m.buckets[0].groups.plain.policy.saturation_queue_floor: 5 is above worker_queue_limit 4; lower it or raise worker_queue_limit
  models.m.buckets[0].groups.plain.policy.min_load_choices: 0 is out of range; use 1 to 65536
  models.m.buckets[0].groups.plain.policy.pressure_guard.abs_threshold_ms: -1 is out of range; use a number of at least 0
  models.m.buckets[0].groups.plain.policy.pressure_guard.rel_threshold: 1 is out of range; use a number above 1
  models.m.buckets[1].groups.plain.policy.saturation_queue_floor: has no effect without worker_queue_limit; set worker_queue_limit or leave it out
  models.m.buckets[2].groups.plain.policy.switch_margin_tokens: has no effect: only the pressure guard switches to an engine that holds less; leave it out or leave "pressure_guard": false out
  models.m.buckets[3].groups.plain.policy.worker_queue_limit: has no effect on power_of_two; leave it out or use cache_aware
  models.m.buckets[3].groups.plain.policy.min_load_choices: has no effect on power_of_two; leave it out or use cache_aware
  models.m.buckets[4].groups.plain.policy.source: "elsewhere" is not a prefix source of this version; write "source": "local" or "history" or "remote"

# A decode engine computes no prompt.
config
{"models": {"m": {"buckets": [{"id": "a", "groups": {"pd": {
  "prefill": {"policy": {"type": "cache_aware"}}, "decode": {"policy": {"type": "cache_aware"}}}}}]}}}
----
2 problems in the filter configuration
  models.m.buckets[0].groups.pd: prefill/decode dispatch is not in this version; use "plain" groups
  models.m.buckets[0].groups.pd.decode.policy.type: cache_aware looks at prompt prefixes, which decode engines do not compute; use power_of_two on decode groups

# The index is the state service's.
config
{"workers": [{"address": "10.0.0.1:1", "models": ["m"]}],
 "models": {"m": {"buckets": [{"id": "a", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 problem in the filter configuration
  models.m.buckets[0].groups.plain.policy.source: "local" is looked up in the state service, and there is no "state"; write "state": {"cluster": ...}, or "source": "history", which needs none

# Settings of the upstream's flags are known by their own names.
config
{"models": {"m": {"buckets": [{"id": "a", "groups": {"plain": {"policy": {"type": "cache_aware",
  "cache_prefix_provider": "radix_tree", "disable_pressure_guard": true, "prefix_cache_min_share": 0.5}}}}]}}}
----
3 problems in the filter configuration
  models.m.buckets[0].groups.plain.policy.cache_prefix_provider: is spelled otherwise here; use "source" in a cache_aware policy
  models.m.buckets[0].groups.plain.policy.disable_pressure_guard: is spelled otherwise here; use "pressure_guard": false in a cache_aware policy
  models.m.buckets[0].groups.plain.policy.prefix_cache_min_share: is dropped: no policy filters by prefix share; leave it out; caps of "admission" keep an engine from filling up
