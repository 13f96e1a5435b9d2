# A session stays where its first request went, until admission says no.
#
# Traps of peers: sessions bound before admission, stickiness that outlives health.
# Field reports E10 and H11: bind only after admission; a rejection moves this one
# request and leaves the binding.

config
{"models": {"m": {"buckets": [
  {"id": "all", "rank": 1, "groups": {"plain": {"worker_ids": ["A", "B"], "policy": {"type": "session_aware", "admission": {"max_inflight_requests": 2}}}}},
  {"id": "more", "rank": 2, "groups": {"plain": {"worker_ids": ["C"], "policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 2 buckets

fleet
A plain
B plain
C plain
----
3 engines

request first session=blue
----
first order     all more
first all       picks A by assigned of 2
first dispatch  A

bindings
----
session of m/all/plain -> A

request again session=blue
----
again order     all more
again all       picks A by session_primary of 2
again dispatch  A

# The session's engine is full. The request goes elsewhere, the session does not.
request third session=blue
----
third order     all more
third all       plain rejected A: max_inflight_requests 2 of 2
third more      picks C by round_robin of 1
third dispatch  C

bindings
----
session of m/all/plain -> A

release first
----
first ends      complete

request fourth session=blue
----
fourth order     all more
fourth all       picks A by session_primary of 2
fourth dispatch  A

# Without a session nothing is bound.
request keyless
----
keyless order     all more
keyless all       picks B by no_session of 2
keyless dispatch  B

bindings
----
session of m/all/plain -> A

# Both engines are full: a new session is not bound to one that did not take it.
request keyless2
----
keyless2 order     all more
keyless2 all       picks B by no_session of 2
keyless2 dispatch  B

request red session=red
----
red order     all more
red all       plain rejected A: max_inflight_requests 2 of 2
red more      picks C by round_robin of 1
red dispatch  C

bindings
----
session of m/all/plain -> A
