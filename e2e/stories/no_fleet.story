# Until the first fleet is known a request waits two seconds, then it is refused.
#
# Later ones are refused at once: a client waits only once for a state service that
# is not there. The first sync ends it.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

request r1
----
r1 waits     at the filter

advance 1s
----
clock 1s

advance 1s
----
r1 answer    503 state_unavailable: the router does not know its engines yet; try again (retry after 1 s)
clock 2s

request r2
----
r2 answer    503 state_unavailable: the router does not know its engines yet; try again (retry after 1 s)

request r3 method=GET path=/v1/models
----
r3 answer    503 state_unavailable: the router does not know its engines yet; try again (retry after 1 s)

log
----
the state service cannot be reached: the call was cut; routing goes on with what is known

fleet
A plain
----
1 engine

request r4
----
r4 all       picks A by round_robin of 1
r4 dispatch  A

log
----
the state service answers again
