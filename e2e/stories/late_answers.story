# A state service that answers too late holds no request up.
#
# A request waits 150 ms for what is known of its session, then goes by the hash of its
# key and binds nothing. The late answer changes nothing.

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

# The client leaves while its call is out.
request r2 session=red
----
r2 waits     at the filter

release r2 end=gone
----
r2 ends      gone

advance 400ms
----
r1 all       picks B by session_unbound of 3
r1 dispatch  B
clock 420ms

answer
----

bindings
----
nothing

metrics observes unbound binds
----
pointsman_observes_total outcome=unavailable 1
pointsman_picks_total reason=session_unbound 1
pointsman_unbound_total cause=unavailable 1

load
----
A in flight 0
B in flight 1
C in flight 0
