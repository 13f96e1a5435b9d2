# What a prefix lookup can come to (engine-selection.md 9.3): found, not found, unavailable, refused. One lookup serves all buckets.
# What was sent a moment ago does not count here; cache_pending.story is about that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [
  {"id": "first", "groups": {"plain": {"worker_ids": ["A"], "policy": {"type": "cache_aware", "admission": {"max_inflight_requests": 1}}}}},
  {"id": "second", "rank": 1, "groups": {"plain": {"worker_ids": ["B", "C"], "policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 2 buckets

fleet
A plain
B plain
C plain others=3
----
3 engines

# Nobody could be asked: by load, and told apart from a miss.
request r1 input=4000
----
r1 order     first second
r1 first     picks A by cache_unavailable of 1, local unavailable: "the state service gave no answer"
r1 dispatch  A

release r1
----
r1 ends      complete

kv unavailable detail=overloaded
----
local unavailable

request r2 input=4000
----
r2 order     first second
r2 first     picks A by cache_unavailable of 1, local unavailable: "overloaded"
r2 dispatch  A

release r2
----
r2 ends      complete

# Asked, and nobody has it.
kv blocks=10
----
local finds 0 holders of 10 blocks

request r3 input=4000
----
r3 order     first second
r3 first     picks A by no_cache_candidate of 1, holding 0 tokens by local
r3 dispatch  A

release r3
----
r3 ends      complete

# A prompt too short for a block is a miss too.
kv blocks=0
----
local finds 0 holders of 0 blocks

request r4 input=4000
----
r4 order     first second
r4 first     picks A by no_cache_candidate of 1, holding 0 tokens by local
r4 dispatch  A

# A is at its limit. The second bucket reads the same answer, and takes of it what concerns its own engines.
kv blocks=10
A 10
C 8 uncertain
X 10
----
local finds 3 holders of 10 blocks

request r5 input=4000
----
r5 order     first second
r5 first     plain rejected A: max_inflight_requests 1 of 1
r5 second    picks C by cache_candidate of 2, holding 3200 tokens by local, uncertain
r5 dispatch  C

metrics observes picks
----
pointsman_observes_total outcome=answered 5
pointsman_picks_total reason=cache_candidate 1
pointsman_picks_total reason=cache_unavailable 2
pointsman_picks_total reason=no_cache_candidate 2

# The service is gone: the request waits for its answer no longer than the deadline, and goes by load.
drop
----

request r6 input=4000
----
r6 order     first second
r6 first     plain rejected A: max_inflight_requests 1 of 1
r6 second    picks B by cache_unavailable of 2, local unavailable: "the state service gave no answer"
r6 dispatch  B

advance 1s
----
clock 1.02s

drop off
----

# A source that refuses the query is a fault that a person must look into; no bucket hides it.
kv invalid detail=bad_namespace
----
local refuses lookups

request r7 input=4000
----
r7 order     first second
r7 first     failed
r7 answer    500 internal_error: the router could not handle the request; its log says why

# A source that nobody has is refused at start-up.
config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "elsewhere"}}}}]}}}
----
1 problem in the filter configuration
  models.m.buckets[0].groups.plain.policy.source: "elsewhere" is not a prefix source of this version; write "source": "local" or "history" or "remote"
