# A session leaves an engine that is down, not one that drains.
#
# Trap of peers: stickiness that outlives health. An engine that drains keeps the
# sessions it has and takes no new ones.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request first session=blue
----
first all       picks A by assigned of 2
first dispatch  A

release first
----
first ends      complete

bindings
----
session of m/all/plain -> A

drain A
----

request new count=4
----
new of 4      B 4

# Its own session still comes.
request second session=blue
----
second all       picks A by session_primary of 2
second dispatch  A

bindings
----
session of m/all/plain -> A

kill A
----

request third session=blue
----
third all       picks B by assigned of 1
third dispatch  B

bindings
----
session of m/all/plain -> B

# Back again, and the session stays where it went.
heal A
----

request fourth session=blue
----
fourth all       picks B by session_primary of 2
fourth dispatch  B
