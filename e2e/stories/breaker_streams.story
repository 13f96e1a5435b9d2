# A good beginning is no success: what counts is how an answer ends.
#
# Field report B05: an engine that broke off every stream looked healthy, since its
# answers began with 200. A probe passes with a good beginning, so that nobody waits
# for the length of a stream; one that breaks off trips the breaker again at once.

config
{"breaker": {"threshold": 2, "cool_down_ms": 4000}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
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

respond r1
----
r1 engine    answers 200

release r1 end=cut
----
r1 ends      cut

request r2
----
r2 all       picks A by round_robin of 1
r2 dispatch  A

respond r2
----
r2 engine    answers 200

release r2 end=cut
----
r2 ends      cut

load
----
A in flight 0, breaker open

advance 4s
----
clock 4.24s

request probe
----
probe all       picks A by round_robin of 1
probe dispatch  A

respond probe
----
probe engine    answers 200

# The probe has begun to answer: others follow.
request r3
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

release probe end=cut
----
probe ends      cut

load
----
A in flight 1, breaker open

request r4
----
r4 all       plain has no candidates
r4 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)
