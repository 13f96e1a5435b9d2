# The queue gate, the saturation pin and the floor of cache_aware (engine-selection.md 9.5, 9.7).
# What was sent a moment ago does not count here; cache_pending.story is about that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "worker_queue_limit": 4}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain others=9
----
3 engines

kv blocks=100
A 100
B 50
----
local finds 2 holders of 100 blocks

# No report: an unknown queue keeps nobody away.
request r1 input=4000
----
r1 all       picks A by cache_candidate of 3, holding 4000 tokens by local
r1 dispatch  A

# Below the limit, then at it: B holds less and has no queue.
report A waiting=3
----

request r2 input=4000
----
r2 all       picks A by cache_candidate of 3, holding 4000 tokens by local
r2 dispatch  A

report A waiting=4
----

request r3 input=4000
----
r3 all       picks B by cache_candidate of 3, holding 2000 tokens by local
r3 dispatch  B

# B is at the limit as well. C holds nothing, its queue is unknown, so not all engines are queued: it takes the request.
report B waiting=4
----

request r4 input=4000
----
r4 all       picks C by no_cache_candidate of 3, holding 0 tokens by local
r4 dispatch  C

# Now all are known to have a queue: keeping away gains nothing, and the cache decides again.
report C waiting=9
----

request r5 input=4000
----
r5 all       picks A by saturation_pin of 3, holding 4000 tokens by local
r5 dispatch  A

explain r5
----
r5 asks      model="m" input=4000 (estimate) peak=unknown
r5 all       picks A by saturation_pin of 3, holding 4000 tokens by local
r5 saw       A in-flight 2 report 600 ms old (basic) waiting 4
r5 saw       B in-flight 1 report 400 ms old (basic) waiting 4
r5 saw       C in-flight 10 report 200 ms old (basic) waiting 9

# Reports run out: unknown queues keep nobody away.
request r6 at=10s input=4000
----
r6 all       picks A by cache_candidate of 3, holding 4000 tokens by local
r6 dispatch  A

# With a floor the floor decides: as long as an engine is known to be below it, holders with a queue are left alone.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {
  "policy": {"type": "cache_aware", "worker_queue_limit": 4, "saturation_queue_floor": 2}}}}]}}}
----
1 model, 1 bucket

report A running=1 waiting=9 uncached=500 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report B running=1 waiting=4 uncached=100 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report C waiting=1
----

request r7 input=4000
----
r7 all       picks C by no_cache_candidate of 3, holding 0 tokens by local
r7 dispatch  C

# Nobody is known to be below it: the holder under the least pressure, not the one that holds most.
report C waiting=2
----

request r8 input=4000
----
r8 all       picks B by saturation_pin of 3, holding 2000 tokens by local
r8 dispatch  B

# An engine whose queue is not known does not count as one below the floor.
report C at=20s running=1
----

report A running=1 waiting=9 uncached=500 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report B running=1 waiting=4 uncached=100 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r9 input=4000
----
r9 all       picks B by saturation_pin of 3, holding 2000 tokens by local
r9 dispatch  B

metrics decision diverted
----
pointsman_cache_decisions_total decision=all_queued 2
pointsman_cache_decisions_total decision=cache_worker_queued 1
pointsman_cache_diverted_tokens_total 4000
