# round_robin rotates, skips engines that are full, and keeps a cursor per group.
#
# Field report A19: one counter for all models sent every second request of a model
# to the same engine when clients alternated between models.

config
{"models": {
  "a": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
  "b": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {"max_inflight_requests": 2}}}}}]}
}}
----
2 models, 2 buckets

fleet
A1 plain models=(a)
A2 plain models=(a)
B1 plain models=(b)
B2 plain models=(b)
----
4 engines

request r1 model=a
----
r1 all       picks A1 by round_robin of 2
r1 dispatch  A1

request r2 model=b
----
r2 all       picks B1 by round_robin of 2
r2 dispatch  B1

request r3 model=a
----
r3 all       picks A2 by round_robin of 2
r3 dispatch  A2

request r4 model=b
----
r4 all       picks B2 by round_robin of 2
r4 dispatch  B2

request r5 model=a
----
r5 all       picks A1 by round_robin of 2
r5 dispatch  A1

# B1 gets one more and is full: the rotation passes over it without losing a turn.
request r6 model=b
----
r6 all       picks B1 by round_robin of 2
r6 dispatch  B1

request r7 model=b
----
r7 all       picks B2 by round_robin of 2
r7 dispatch  B2

request r8 model=b
----
r8 all       plain rejected B1: max_inflight_requests 2 of 2 and 1 more
r8 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

expect A1=2 A2=1 B1=2 B2=2 policy_selection_failed=1
----
ok
