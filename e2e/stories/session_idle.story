# A session that is used lives on; one that is not used runs out.
#
# Each use prolongs it with the next sync (field report A61: a lease is renewed while
# there is traffic, not by a fixed age).

config
{"session": {"header": "x-session-id", "idle_secs": 10}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----

fleet
A plain
B plain
----

request r1 session=blue
----

advance 8s
----

request r2 session=blue
----

advance 8s
----

bindings
----

request r3 session=blue
----

advance 11s
----

bindings
----
