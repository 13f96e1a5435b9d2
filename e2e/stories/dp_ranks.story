# An engine of several data-parallel ranks that is told one for every request
# (engine-selection.md 8.7): by key, else where the prefix is, else where least is in
# flight.

config
{"state": {"cluster": "state", "pending_prefix_ms": 0},
 "models": {"m": {"dp_ranks": "always", "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain ranks=2
----
1 engine

kv blocks=100 age=1200
----
local finds 0 holders of 100 blocks

# Nobody holds it: the ranks take turns, and one that is busier is passed over.
request r1 at=1s input=4000
----
r1 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, 1200 ms old, rank 1 by load
r1 dispatch  A, rank 1

request r2 input=4000
----
r2 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, 1200 ms old, rank 0 by load
r2 dispatch  A, rank 0

release r1 status=200
----
r1 ends      complete after 200

request r3 input=4000
----
r3 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, 1200 ms old, rank 1 by load
r3 dispatch  A, rank 1

request r4 input=4000
----
r4 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, 1200 ms old, rank 0 by load
r4 dispatch  A, rank 0

release r2 status=200
----
r2 ends      complete after 200

release r3 status=200
----
r3 ends      complete after 200

# Both hold as much: the one with fewer requests in flight. One of them is still busy.
kv blocks=100 age=1200
A 90 rank=0 ranks=(0,1) age=35
----
local finds 1 holder of 100 blocks

request r5 input=4000
----
r5 all       picks A by cache_candidate of 1, holding 3600 tokens by local, 35 ms old, rank 1
r5 dispatch  A, rank 1

# One holds more, be it busier.
kv blocks=100
A 90 rank=1 age=70
----
local finds 1 holder of 100 blocks

request r6 input=4000
----
r6 all       picks A by cache_candidate of 1, holding 3600 tokens by local, 70 ms old, rank 1
r6 dispatch  A, rank 1

request r7 input=4000
----
r7 all       picks A by cache_candidate of 1, holding 3600 tokens by local, 70 ms old, rank 1
r7 dispatch  A, rank 1

# A session keeps to its rank, and the routing key goes before it. What a client says of
# ranks does not pass.
request r8 input=4000 session=session-42 header=(x-data-parallel-rank,0)
----
r8 all       picks A by cache_candidate of 1, holding 3600 tokens by local, 70 ms old, rank 1 by key
r8 dispatch  A, rank 1

request r9 input=4000 session=other routing=session-42
----
r9 all       picks A by cache_candidate of 1, holding 3600 tokens by local, 70 ms old, rank 1 by key
r9 dispatch  A, rank 1

# Whatever ends a request gives its rank back, once.
release r4 end=gone
----
r4 ends      gone

release r5 end=cut
----
r5 ends      cut

release r6 status=500
----
r6 ends      complete after 500

release r7 status=200
----
r7 ends      complete after 200

release r8 status=200
----
r8 ends      complete after 200

release r9 status=200
----
r9 ends      complete after 200

kv blocks=100
----
local finds 0 holders of 100 blocks

request r10 input=4000
----
r10 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, rank 0 by load
r10 dispatch  A, rank 0

request r11 input=4000
----
r11 all       picks A by no_cache_candidate of 1, holding 0 tokens by local, rank 1 by load
r11 dispatch  A, rank 1

# How many ranks it has is not known: it chooses itself.
fleet
A plain
----
1 engine

request r12 input=4000 session=session-42 header=(x-data-parallel-rank,7)
----
r12 all       picks A by no_cache_candidate of 1, holding 0 tokens by local
r12 dispatch  A
