# Hard admission is never passed over for a prefix, and a rejection is no miss (engine-selection.md 9.5, POLICY_DESIGN 4).

config
{"models": {"m": {"buckets": [
  {"id": "near", "groups": {"plain": {"worker_ids": ["A", "B", "C"], "policy": {"type": "cache_aware",
    "worker_queue_limit": 4, "admission": {"max_running_requests": 2}}}}},
  {"id": "far", "rank": 1, "groups": {"plain": {"worker_ids": ["D"], "policy": {"type": "power_of_two"}}}}]}}}
----
1 model, 2 buckets

fleet
A plain
B plain
C plain
D plain
----
4 engines

kv blocks=100
A 100
B 50
----
local finds 2 holders of 100 blocks

# A is at its cap: the next best holder.
report A running=2
----

request r1 input=4000
----
r1 order     near far
r1 near      picks B by cache_candidate of 3, holding 2000 tokens by local
r1 dispatch  B

# Both are: C would have room and is not tried, since a rejection is no miss. The next bucket is.
report B running=2
----

request r2 input=4000
----
r2 order     near far
r2 near      plain rejected A: max_running_requests 2 of 2 and 1 more
r2 far       picks D by power_of_two of 1
r2 dispatch  D

explain r2
----
r2 asks      model="m" input=4000 (estimate) peak=unknown
r2 order     near far
r2 near      plain rejected A: max_running_requests 2 of 2 and 1 more
r2           A max_running_requests 2 of 2
r2           B max_running_requests 2 of 2
r2           D is no member
r2 far       picks D by power_of_two of 1
r2 saw       D in-flight 0 no report

# Unknown is admitted.
request r3 at=10s input=4000
----
r3 order     near far
r3 near      picks A by cache_candidate of 3, holding 4000 tokens by local
r3 dispatch  A

# A queued holder is pinned only if admission lets it through.
report A running=2 waiting=9
----

report B running=1 waiting=9
----

report C running=1 waiting=9
----

request r4 input=4000
----
r4 order     near far
r4 near      picks B by saturation_pin of 3, holding 2000 tokens by local
r4 dispatch  B

report B running=2 waiting=9
----

request r5 input=4000
----
r5 order     near far
r5 near      plain rejected A: max_running_requests 2 of 2 and 1 more
r5 far       picks D by power_of_two of 1
r5 dispatch  D

# With one bucket alone there is nothing left.
config
{"models": {"m": {"buckets": [
  {"id": "near", "groups": {"plain": {"worker_ids": ["A", "B", "C"], "policy": {"type": "cache_aware", "admission": {"max_running_requests": 2}}}}}]}}}
----
1 model, 1 bucket

request r6 input=4000
----
r6 near      plain rejected A: max_running_requests 2 of 2 and 1 more
r6 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)
