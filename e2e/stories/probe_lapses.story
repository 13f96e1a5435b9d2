# A probe that never ends does not keep an engine out for ever.
#
# Only one request may try a half-open engine. If it hangs for a whole cool-down its
# place is free, and what becomes of it later decides nothing.

config
{"breaker": {"threshold": 1, "cool_down_ms": 3000}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request r1
----
r1 all       picks A by round_robin of 1
r1 dispatch  A

release r1 end=timeout
----
r1 ends      timeout

advance 3s
----
clock 3.02s

request hangs
----
hangs all       picks A by round_robin of 1
hangs dispatch  A

request r2
----
r2 all       plain has no candidates
r2 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

advance 3s
----
clock 6.02s

request second
----
second all       picks A by round_robin of 1
second dispatch  A

release second
----
second ends      complete

release hangs end=timeout
----
hangs ends      timeout

request r3
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

load
----
A in flight 1
