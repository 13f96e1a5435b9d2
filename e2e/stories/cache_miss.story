# No engine holds enough: by pressure, among engines without a queue, admission asked once about the winner (engine-selection.md 9.6).
# What was sent a moment ago does not count here; cache_pending.story is about that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [
  {"id": "first", "groups": {"plain": {"worker_ids": ["A", "B", "C", "D"], "policy": {"type": "cache_aware",
    "worker_queue_limit": 4, "min_load_choices": 9, "admission": {"max_inflight_requests": 8}}}}},
  {"id": "second", "rank": 1, "groups": {"plain": {"worker_ids": ["E"], "policy": {"type": "round_robin"}}}}]}}}
----
1 model, 2 buckets

fleet
A plain others=7
B plain others=3
C plain others=5
D plain others=6
E plain
----
5 engines

kv blocks=100
----
local finds 0 holders of 100 blocks

# As many choices as engines are an exact minimum.
request r1 input=4000
----
r1 order     first second
r1 first     picks B by no_cache_candidate of 4, holding 0 tokens by local
r1 dispatch  B

# B has a queue, so the least of the others.
report B waiting=4
----

request r2 input=4000
----
r2 order     first second
r2 first     picks C by no_cache_candidate of 4, holding 0 tokens by local
r2 dispatch  C

# All have one: the whole group again.
report A waiting=4
----

report C waiting=4
----

report D waiting=4
----

request r3 input=4000
----
r3 order     first second
r3 first     picks B by no_cache_candidate of 4, holding 0 tokens by local
r3 dispatch  B

# The winner is at its cap: no other is tried, the next bucket is.
fleet
A plain others=8
B plain others=8
C plain others=8
D plain others=8
E plain
----
5 engines

request r4 input=4000
----
r4 order     first second
r4 first     plain rejected A: max_inflight_requests 8 of 8
r4 second    picks E by round_robin of 1
r4 dispatch  E

# One choice is a draw: over many requests every engine gets its share, whatever the load.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "min_load_choices": 1}}}}]}}}
----
1 model, 1 bucket

fleet
A plain others=90
B plain
C plain
D plain
----
4 engines

request many count=400 input=4000
----
many of 400    A 92, B 93, C 115, D 100

expect A=60..140 B=60..140 C=60..140 D=60..140
----
ok
