# Buckets of equal capacity go by rank, then by ID, whatever order they are written in.

config
{"models": {"m": {"buckets": [
  {"id": "b", "rank": 2, "max_context_tokens": 9000, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "d", "rank": 1, "max_context_tokens": 9000, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "a", "rank": 2, "max_context_tokens": 9000, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "unbounded", "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "small", "rank": 7, "max_context_tokens": 500, "groups": {"plain": {"policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 5 buckets

fleet
A plain
----
1 engine

request r1 input=100
----
r1 order     small(500) d(9000) a(9000) b(9000) unbounded
r1 small     picks A by round_robin of 1
r1 dispatch  A

request r2 input=501
----
r2 order     d(9000) a(9000) b(9000) unbounded
r2 d         picks A by round_robin of 1
r2 dispatch  A

request r3 input=20000
----
r3 unbounded picks A by round_robin of 1
r3 dispatch  A
