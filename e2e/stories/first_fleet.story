# A request that comes before the first fleet goes out with it.
#
# A context that replaces another under load fails no request.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

request r1
----
r1 waits     at the filter

request r2
----
r2 waits     at the filter

fleet
A plain
B plain
----
2 engines

# The first sync brought the fleet, the next tick looks after those who wait.
advance 200ms
----
r1 all       picks A by round_robin of 2
r1 dispatch  A
r2 all       picks B by round_robin of 2
r2 dispatch  B
clock 220ms

expect A=1 B=1
----
ok
