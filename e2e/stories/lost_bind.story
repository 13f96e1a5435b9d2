# A bind whose answer is lost has happened all the same.
#
# The request goes on unbound, as its policy placed it; the next one of its session
# finds the binding and follows it.

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

hold
----

request r1 session=blue
----
r1 waits     at the filter

# Its question is answered; the answer to its bind is not.
drop replies=1
----

answer
----
r1 all       picks C by assigned of 3
r1 dispatch  C

bindings
----
session of m/all/plain -> C

request r2 session=blue
----
r2 all       picks C by session_primary of 3
r2 dispatch  C

metrics observes unbound binds
----
pointsman_binds_total outcome=unavailable 1
pointsman_observes_total outcome=answered 2
pointsman_unbound_total cause=unavailable 1
