# Two first requests of one session meet.
#
# Both ask for the session before either has bound it. The second bind loses, learns
# the winner, checks it again, and follows it. Field report H04 and H06: one winner.

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

request r2 session=blue
----
r2 waits     at the filter

answer
----
r1 all       picks C by assigned of 3
r1 dispatch  C
r2 all       picks C by session_primary of 3
r2 dispatch  C

bindings
----
session of m/all/plain -> C

metrics binds picks
----
pointsman_binds_total outcome=lost 1
pointsman_binds_total outcome=won 1
pointsman_picks_total reason=assigned 1
pointsman_picks_total reason=session_primary 1
