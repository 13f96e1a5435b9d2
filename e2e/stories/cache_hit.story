# cache_aware takes the engine with the least to compute (engine-selection.md 9.4): thresholds, ties by pressure, then by ID.
# What was sent a moment ago does not count here; cache_pending.story is about that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain others=9
C plain
D plain
----
4 engines

# 100 blocks of a prompt of 4,000 tokens: a block is 40 tokens.
kv blocks=100
A 50
B 90
C 20
----
local finds 3 holders of 100 blocks

# B has the least to compute; its other requests do not matter for that.
request r1 input=4000
----
r1 all       picks B by cache_candidate of 4, holding 3600 tokens by local
r1 dispatch  B

explain r1
----
r1 asks      model="m" input=4000 (estimate) peak=unknown
r1 all       picks B by cache_candidate of 4, holding 3600 tokens by local
r1 saw       B in-flight 9 no report
r1 saw       A in-flight 0 no report
r1 saw       C in-flight 0 no report
r1 saw       D in-flight 0 no report

# 1,024 tokens are the least that binds: 26 blocks are 1,040, 25 are 1,000.
kv blocks=100
A 26
B 25
----
local finds 2 holders of 100 blocks

request r2 input=4000
----
r2 all       picks A by cache_candidate of 4, holding 1040 tokens by local
r2 dispatch  A

kv blocks=100
A 25
----
local finds 1 holder of 100 blocks

request r3 input=4000
----
r3 all       picks C by no_cache_candidate of 4, holding 0 tokens by local
r3 dispatch  C

# A share that is no whole number of tokens is rounded down; more blocks than were asked about count as all of them.
kv blocks=3
A 1
----
local finds 1 holder of 3 blocks

request r4 input=4000
----
r4 all       picks A by cache_candidate of 4, holding 1333 tokens by local
r4 dispatch  A

kv blocks=3
A 1
C 7
----
local finds 2 holders of 3 blocks

request r5 input=4000
----
r5 all       picks C by cache_candidate of 4, holding 4000 tokens by local
r5 dispatch  C

# Equal work goes by pressure.
kv blocks=100
C 90
B 90
D 90
----
local finds 3 holders of 100 blocks

report D at=3s running=1 waiting=5 uncached=90 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report B others=0 running=1 waiting=5 uncached=900 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report C running=1 waiting=5 uncached=800 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r6 input=4000
----
r6 all       picks D by cache_candidate of 4, holding 3600 tokens by local
r6 dispatch  D

# Equal pressure goes by ID, in a filter with nothing in flight.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

report D running=1 waiting=5 uncached=900 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

report C running=1 waiting=5 uncached=900 kv_used=0 kv_total=0 kv_capacity=1000 running_capacity=8
----

request r7 input=4000
----
r7 all       picks B by cache_candidate of 4, holding 3600 tokens by local
r7 dispatch  B

# The gates are optional: no least number of tokens, and a share of the prompt instead.
config
{"state": {"cluster": "state", "pending_prefix_ms": 0}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {
  "policy": {"type": "cache_aware", "min_matched_tokens": 0, "min_match_ratio": 0.5}}}}]}}}
----
1 model, 1 bucket

kv blocks=100
A 50
----
local finds 1 holder of 100 blocks

request r8 input=100
----
r8 all       picks A by cache_candidate of 4, holding 50 tokens by local
r8 dispatch  A

kv blocks=100
A 49
----
local finds 1 holder of 100 blocks

request r9 input=100
----
r9 all       picks C by no_cache_candidate of 4, holding 0 tokens by local
r9 dispatch  C
