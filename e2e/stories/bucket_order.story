# Bucket order and fallback.
#
# Two buckets can serve a 4k prompt. The short one comes first because its capacity
# is smaller, not because of its rank. When its only engine is full the request moves
# on to the next bucket.

config
{"models": {"m": {"buckets": [
  {"id": "long",  "rank": 1, "max_context_tokens": 131072, "groups": {"plain": {"worker_ids": ["L"], "policy": {"type": "power_of_two"}}}},
  {"id": "short", "rank": 9, "max_context_tokens": 8192, "groups": {"plain": {"worker_ids": ["S"],
    "policy": {"type": "power_of_two", "admission": {"max_running_requests": 2}}}}}
]}}}
----
1 model, 2 buckets

fleet
S plain
L plain
----
2 engines

# S reports a full house. The report is fresh.
report S at=1s running=2
----

request r1 at=2s input=4000 peak=6000
----
r1 order     short(8192) long(131072)
r1 short     plain rejected S: max_running_requests 2 of 2
r1 long      picks L by power_of_two of 1
r1 dispatch  L

# Ten seconds later the same report is stale. A stale report is unknown, not zero,
# so the limit cannot be checked and the engine stays a candidate.
request r2 at=12s input=4000 peak=6000
----
r2 order     short(8192) long(131072)
r2 short     picks S by power_of_two of 1
r2 dispatch  S

explain r1
----
r1 asks      model="m" input=4000 (estimate) peak=6000
r1 order     short(8192) long(131072)
r1 short     plain rejected S: max_running_requests 2 of 2
r1           S max_running_requests 2 of 2
r1           L is no member
r1 long      picks L by power_of_two of 1
r1 saw       L in-flight 0 no report

load
----
S in flight 1, report 11.04s old: running 2
L in flight 1

release r1
----
r1 ends      complete

release r2 end=cut
----
r2 ends      cut

load
----
S in flight 0, failures 1, report 11.24s old: running 2
L in flight 0

metrics
----
pointsman_charges_released_total 2
pointsman_engine_failures_total 1
pointsman_observes_total outcome=answered 2
pointsman_picks_total reason=power_of_two 2
pointsman_prompt_lengths_total outcome=unavailable 2
pointsman_requests_total outcome=routed 2
pointsman_selection_failures_total reason=max_running_requests 1
pointsman_sync_total outcome=ok 54

log
----
nothing
