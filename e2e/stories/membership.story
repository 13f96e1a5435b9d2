# A group sees its own members only: by name, model, stage and health.
#
# An explicit empty list is nobody, not everybody.

config
{"models": {"m": {"buckets": [
  {"id": "closed", "rank": 1, "groups": {"plain": {"worker_ids": [], "policy": {"type": "round_robin"}}}},
  {"id": "named", "rank": 2, "groups": {"plain": {"worker_ids": ["A", "P", "X"], "policy": {"type": "round_robin"}}}},
  {"id": "open", "rank": 3, "groups": {"plain": {"policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 3 buckets

# P serves the model as a prefill engine, X serves another model.
fleet
A plain
B plain
P prefill
X plain models=(other)
----
4 engines

request r1
----
r1 order     closed named open
r1 closed    plain has no candidates
r1 named     picks A by round_robin of 1
r1 dispatch  A

kill A
----

request r2
----
r2 order     closed named open
r2 closed    plain has no candidates
r2 named     plain has no candidates
r2 open      picks B by round_robin of 1
r2 dispatch  B

explain r2
----
r2 asks      model="m" input=15 (estimate) peak=unknown
r2 order     closed named open
r2 closed    plain has no candidates
r2           A is no member
r2           B is no member
r2           P is prefill
r2 named     plain has no candidates
r2           A is down
r2           B is no member
r2           P is prefill
r2 open      picks B by round_robin of 1
r2 saw       B in-flight 0 no report

kill B
----

request r3
----
r3 order     closed named open
r3 closed    plain has no candidates
r3 named     plain has no candidates
r3 open      plain has no candidates
r3 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

explain r3
----
r3 asks      model="m" input=15 (estimate) peak=unknown
r3 order     closed named open
r3 closed    plain has no candidates
r3           A is no member
r3           B is no member
r3           P is prefill
r3 named     plain has no candidates
r3           A is down
r3           B is no member
r3           P is prefill
r3 open      plain has no candidates
r3           A is down
r3           B is down
r3           P is prefill
