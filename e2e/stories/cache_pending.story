# A burst of requests with one new prefix stays together (engine-selection.md 10.8).
#
# Engines tell of a prompt once they have computed it. Until then the index finds
# nobody, and each request of a burst would go where load is lowest, to be computed
# there again. So the engine that a prompt was just sent to counts as its holder, by
# the rules for holders and for a short time only.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "worker_queue_limit": 4}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
D plain
----
4 engines

kv blocks=250
----
local finds 0 holders of 250 blocks

# All of them ask before the first is answered.
hold
----

request r1 at=2s input=4000
----
r1 waits     at the filter

request r2 input=4000
----
r2 waits     at the filter

request r3 input=4000
----
r3 waits     at the filter

request r4 input=4000
----
r4 waits     at the filter

answer
----
r1 all       picks A by no_cache_candidate of 4, holding 0 tokens by local
r1 dispatch  A
r2 all       picks A by cache_candidate of 4, holding 3984 tokens by local, pending
r2 dispatch  A
r3 all       picks A by cache_candidate of 4, holding 3984 tokens by local, pending
r3 dispatch  A
r4 all       picks A by cache_candidate of 4, holding 3984 tokens by local, pending
r4 dispatch  A

# Another engine is known to hold half. What was sent to the first one is more.
kv blocks=250
C 125
----
local finds 1 holder of 250 blocks

request r5 at=3s input=4000
----
r5 all       picks A by cache_candidate of 4, holding 3984 tokens by local, pending
r5 dispatch  A

# A queue speaks against it as against any holder.
report A waiting=4
----

report B waiting=4
----

request r6 at=3500ms input=4000
----
r6 all       picks C by cache_candidate of 4, holding 2000 tokens by local
r6 dispatch  C

# An answer that is no success takes the prompt back.
config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

kv blocks=250
----
local finds 0 holders of 250 blocks

request r7 at=10s input=4000
----
r7 all       picks A by no_cache_candidate of 4, holding 0 tokens by local
r7 dispatch  A

respond r7 status=500
----
r7 engine    answers 500

request r8 input=4000
----
r8 all       picks C by no_cache_candidate of 4, holding 0 tokens by local
r8 dispatch  C

# The time is over; what an engine did not tell of by now it does not have.
request r9 at=15s input=4000
----
r9 all       picks D by no_cache_candidate of 4, holding 0 tokens by local
r9 dispatch  D

# A restarted engine has nothing.
request r10 at=16s input=4000
----
r10 all       picks D by cache_candidate of 4, holding 3984 tokens by local, pending
r10 dispatch  D

fleet
A plain generation=2
B plain generation=2
C plain generation=2
D plain generation=2
----
4 engines

request r11 at=17s input=4000
----
r11 all       picks A by no_cache_candidate of 4, holding 0 tokens by local
r11 dispatch  A

# Where nobody could be asked, nothing is known, and load decides.
request r12 at=18s input=4000
----
r12 all       picks A by cache_candidate of 4, holding 3984 tokens by local, pending
r12 dispatch  A

kv unavailable
----
local unavailable

request r13 at=19s input=4000
----
r13 all       picks C by cache_unavailable of 4, local unavailable
r13 dispatch  C
