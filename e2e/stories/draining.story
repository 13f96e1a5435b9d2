# A draining engine takes nothing new and finishes what it has.
#
# Trap of peers: a drained candidate set reported as overload. With every engine
# draining the answer is that there is no engine, not that all are full.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {"max_inflight_requests": 100}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request r1
----
r1 all       picks A by round_robin of 2
r1 dispatch  A

drain A
----

request many count=10
----
many of 10     B 10

load
----
A in flight 1, draining
B in flight 0

release r1
----
r1 ends      complete

drain B
----

request r2
----
r2 all       plain has no candidates
r2 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

explain r2
----
r2 asks      model="m" input=15 (estimate) peak=unknown
r2 all       plain has no candidates
r2           A drains
r2           B drains

heal A
----

request r3
----
r3 all       picks A by round_robin of 1
r3 dispatch  A
