# Three failures in a row open an engine's breaker; one probe closes it.
#
# Field report A30: an engine that fails fast always has the fewest requests and so
# gets all of them. Trap of peers: fast failures look like low load.

config
{"breaker": {"threshold": 3, "cool_down_ms": 10000}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain others=5
----
2 engines

request r1
----
r1 all       picks A by load_based of 2
r1 dispatch  A

release r1 status=500
----
r1 ends      complete after 500

request r2
----
r2 all       picks A by load_based of 2
r2 dispatch  A

release r2 end=cut
----
r2 ends      cut

request r3
----
r3 all       picks A by load_based of 2
r3 dispatch  A

release r3 end=unreachable
----
r3 ends      unreachable

load
----
A in flight 0, breaker open
B in flight 0, 5 from other proxies

request r4
----
r4 all       picks B by load_based of 1
r4 dispatch  B

# After the cool-down one request may try. Others stay away until it is answered.
advance 10s
----
clock 10.24s

request probe
----
probe all       picks A by load_based of 2
probe dispatch  A

request r5
----
r5 all       picks B by load_based of 1
r5 dispatch  B

respond probe
----
probe engine    answers 200

request r6
----
r6 all       picks A by load_based of 2
r6 dispatch  A
