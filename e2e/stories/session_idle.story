# A session that is used lives on; one that is not used runs out.
#
# Each use prolongs it with the next sync (field report A61: a lease is renewed while
# there is traffic, not by a fixed age).

config
{"session": {"header": "x-session-id", "idle_secs": 10}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request r1 session=blue
----
r1 all       picks A by assigned of 2
r1 dispatch  A

advance 8s
----
clock 8.02s

request r2 session=blue
----
r2 all       picks A by session_primary of 2
r2 dispatch  A

advance 8s
----
clock 16.02s

bindings
----
session of m/all/plain -> A

request r3 session=blue
----
r3 all       picks A by session_primary of 2
r3 dispatch  A

advance 11s
----
clock 27.02s

bindings
----
nothing

request r4 session=blue
----
r4 all       picks B by assigned of 2
r4 dispatch  B

bindings
----
session of m/all/plain -> B
