# Back-pressure and the client's own faults never open a breaker.
#
# Field report A27: a mark set by one 503 stayed for ever. 429 and 503 say that the
# engine answers; 400 shows an engine that works; a client that leaves says nothing.

config
{"breaker": {"threshold": 2, "cool_down_ms": 5000}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request r1
----
r1 all       picks A by round_robin of 1
r1 dispatch  A

release r1 status=503
----
r1 ends      complete after 503

request r2
----
r2 all       picks A by round_robin of 1
r2 dispatch  A

release r2 status=429
----
r2 ends      complete after 429

request r3
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

release r3 status=400
----
r3 ends      complete after 400

request r4
----
r4 all       picks A by round_robin of 1
r4 dispatch  A

release r4 end=gone
----
r4 ends      gone

# One failure, then back-pressure: the streak stands, and one more failure opens.
request r5
----
r5 all       picks A by round_robin of 1
r5 dispatch  A

release r5 status=500
----
r5 ends      complete after 500

request r6
----
r6 all       picks A by round_robin of 1
r6 dispatch  A

release r6 status=503
----
r6 ends      complete after 503

load
----
A in flight 0, failures 1

request r7
----
r7 all       picks A by round_robin of 1
r7 dispatch  A

release r7 end=timeout
----
r7 ends      timeout

load
----
A in flight 0, breaker open

request r8
----
r8 all       plain has no candidates
r8 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

explain r8
----
r8 asks      model="m" input=15 (estimate) peak=unknown
r8 all       plain has no candidates
r8           A has an open breaker

# A 503 on the probe closes the door behind it: the engine answers again.
advance 5s
----
clock 5.44s

request r9
----
r9 all       picks A by round_robin of 1
r9 dispatch  A

release r9 status=503
----
r9 ends      complete after 503

request r10
----
r10 all       picks A by round_robin of 1
r10 dispatch  A
