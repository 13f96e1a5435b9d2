# Without the state service known sessions stay, new ones are not bound.
#
# What the context followed before is remembered for a while; a new session is placed
# by its hash, so that its next request comes to the same engine.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request first session=blue
----
first all       picks C by assigned of 3
first dispatch  C

release first
----
first ends      complete

drop
----

request second session=blue
----
second all       picks C by session_primary of 3
second dispatch  C

request new count=5 session=red
----
new of 5      C 5

request new2 count=5 session=green
----
new2 of 5      B 5

bindings
----
session of m/all/plain -> C

metrics binds observes unbound remembered
----
pointsman_bindings_remembered_total 1
pointsman_binds_total outcome=won 1
pointsman_observes_total outcome=answered 1
pointsman_observes_total outcome=unavailable 11
pointsman_picks_total reason=session_unbound 10
pointsman_unbound_total cause=unavailable 10
