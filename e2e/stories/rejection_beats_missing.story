# A rejection anywhere beats missing candidates in the final answer.
#
# Trap of peers: a drained candidate set reported as overload, and the other way
# round. Field reports E01 and E07.

config
{"models": {"m": {"buckets": [
  {"id": "full", "rank": 1, "groups": {"plain": {"worker_ids": ["A"], "policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}},
  {"id": "none", "rank": 2, "groups": {"plain": {"worker_ids": ["Z"], "policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 2 buckets

fleet
A plain
----
1 engine

request r1
----
r1 order     full none
r1 full      picks A by round_robin of 1
r1 dispatch  A

request r2
----
r2 order     full none
r2 full      plain rejected A: max_inflight_requests 1 of 1
r2 none      plain has no candidates
r2 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

# With A gone nothing was rejected: there is just nobody.
kill A
----

request r3
----
r3 order     full none
r3 full      plain has no candidates
r3 none      plain has no candidates
r3 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

explain r3
----
r3 asks      model="m" input=15 (estimate) peak=unknown
r3 order     full none
r3 full      plain has no candidates
r3           A is down
r3 none      plain has no candidates
r3           A is no member

log
----
groups name workers the fleet does not have: Z
