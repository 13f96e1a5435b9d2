# The switch margin and the pressure guard of cache_aware (engine-selection.md 9.5).
# What was sent a moment ago does not count here; cache_pending.story is about that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

# A would compute 400 tokens, B 1,200, C 2,400; the margin is 1,024.
kv blocks=100
A 90
B 70
C 40
----
local finds 3 holders of 100 blocks

# Without reports of both nobody asks the guard.
report A running=1 waiting=1 uncached=9000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r1 input=4000
----
r1 all       picks A by cache_candidate of 3, holding 3600 tokens by local
r1 dispatch  A

# A's queue is longer by more than 1,024 tokens and 1.5 times: B is within the margin, C is not.
report B running=1 waiting=1 uncached=100 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report C running=0 waiting=0 uncached=0 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r2 input=4000
----
r2 all       picks B by cache_candidate of 3, holding 2800 tokens by local
r2 dispatch  B

# By exactly 1,024 it is not more.
report A running=1 waiting=1 uncached=1124 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r3 input=4000
----
r3 all       picks A by cache_candidate of 3, holding 3600 tokens by local
r3 dispatch  A

report A running=1 waiting=1 uncached=1125 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r4 input=4000
----
r4 all       picks B by cache_candidate of 3, holding 2800 tokens by local
r4 dispatch  B

# Ever so much longer, but not 1.5 times.
report B running=1 waiting=1 uncached=10000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report A running=1 waiting=1 uncached=14000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r5 input=4000
----
r5 all       picks A by cache_candidate of 3, holding 3600 tokens by local
r5 dispatch  A

# Of four requests with both reports it was asked, of two it decided.
metrics guard diverted
----
pointsman_cache_guard_total outcome=kept 2
pointsman_cache_guard_total outcome=switched 2

# By time where that is asked for and both queues have a rate: A works off its queue in 1 s, B in 2 s.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware",
  "pressure_guard": {"abs_threshold_ms": 500, "rel_threshold": 1.2}}}}}]}}}
----
1 model, 1 bucket

report A running=1 waiting=1 uncached=14000 rate=14000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report B running=1 waiting=1 uncached=2000 rate=1000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r6 input=4000
----
r6 all       picks A by cache_candidate of 3, holding 3600 tokens by local
r6 dispatch  A

report A running=1 waiting=1 uncached=14000 rate=4000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r7 input=4000
----
r7 all       picks B by cache_candidate of 3, holding 2800 tokens by local
r7 dispatch  B

# Off, the one that holds most is taken however long its queue.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "pressure_guard": false}}}}]}}}
----
1 model, 1 bucket

report A running=1 waiting=1 uncached=90000 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r8 input=4000
----
r8 all       picks A by cache_candidate of 3, holding 3600 tokens by local
r8 dispatch  A
