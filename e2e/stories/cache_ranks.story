# Which data-parallel rank of an engine computes a prompt (engine-selection.md 8.7).
#
# An engine with several ranks has a cache for each. The state service says which of
# them holds the prefix, and the engine is told, if it was chosen for that.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0},
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "min_match_ratio": 0.5}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

kv blocks=100
A 60 rank=3
B 90 rank=0 uncertain
----
local finds 2 holders of 100 blocks

request r1 at=2s input=4000
----
r1 all       picks B by cache_candidate of 2, holding 3600 tokens by local, uncertain, rank 0
r1 dispatch  B, rank 0

# What a client says of ranks does not reach an engine, which the client did not choose.
request r2 input=4000 header=(x-data-parallel-rank,7)
----
r2 all       picks B by cache_candidate of 2, holding 3600 tokens by local, uncertain, rank 0
r2 dispatch  B, rank 0

# An engine of one rank is told nothing.
kv blocks=100
A 95
B 90 rank=0
----
local finds 2 holders of 100 blocks

request r3 input=4000 header=(x-data-parallel-rank,7)
----
r3 all       picks A by cache_candidate of 2, holding 3800 tokens by local
r3 dispatch  A

# Too little to choose an engine by is too little to choose a rank by: all prompts
# begin alike somehow, and would all go to one rank.
kv blocks=100
A 40 rank=1
B 40 rank=2
----
local finds 2 holders of 100 blocks

request r4 input=4000
----
r4 all       picks A by no_cache_candidate of 2, holding 1600 tokens by local
r4 dispatch  A

# A spare engine would be told the same rank.
config
{"transport_retry": true, "state": {"cluster": "state", "pending_prefix_ms": 0},
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

kv blocks=100
A 90 rank=1
----
local finds 1 holder of 100 blocks

request r5 at=10s input=4000
----
r5 all       picks A by cache_candidate of 2, holding 3600 tokens by local, rank 1
r5 dispatch  A, then B, rank 1
