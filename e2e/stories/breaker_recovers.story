# A recovered probe or a new life of the engine half-opens its breaker at once.
#
# Nobody waits for the rest of a cool-down when the engine is known to be back.

config
{"breaker": {"threshold": 1, "cool_down_ms": 600000}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
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

release r1 end=unreachable
----
r1 ends      unreachable

request r2
----
r2 all       plain has no candidates
r2 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

kill A
----

heal A
----

request r3
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

release r3 end=unreachable
----
r3 ends      unreachable

# A restart under the same name.
heal A generation=2
----

request r4
----
r4 all       picks A by round_robin of 1
r4 dispatch  A

release r4
----
r4 ends      complete

load
----
A in flight 0
