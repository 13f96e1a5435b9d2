# Requests to engines that can abort get a rid; one that ends before its answer is aborted by it, at the engine that has it.

config
{"abort": {"cluster": "engines"}, "models": {"m": {
  "sampling": {"override": {"temperature": 0.6}},
  "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain aborts
B plain aborts
C plain
----
3 engines

# The client leaves in the middle of the answer.
request r1
----
r1 all       picks A by round_robin of 3
r1 adds      "rid":"ff4ae39f6bb44fb81a3d1e601c115a0b",
r1 adds      ,"temperature":0.6
r1 dispatch  A

respond r1
----
r1 engine    answers 200

release r1 end=gone
----
r1 ends      gone
r1 aborts    ff4ae39f6bb44fb81a3d1e601c115a0b at A

# It leaves before the answer.
request r2
----
r2 all       picks B by round_robin of 3
r2 adds      "rid":"c4f5a58656eef5109dcec3ad077dec6c",
r2 adds      ,"temperature":0.6
r2 dispatch  B

release r2 end=gone
----
r2 ends      gone
r2 aborts    c4f5a58656eef5109dcec3ad077dec6c at B

# C does not know aborts, so it gets no rid.
request r3
----
r3 all       picks C by round_robin of 3
r3 adds      ,"temperature":0.6
r3 dispatch  C

release r3 end=gone
----
r3 ends      gone

# The host's patience ends, the engine breaks off.
request r4
----
r4 all       picks A by round_robin of 3
r4 adds      "rid":"1f5d18b340e5fa533aecf92601239137",
r4 adds      ,"temperature":0.6
r4 dispatch  A

release r4 end=timeout
----
r4 ends      timeout
r4 aborts    1f5d18b340e5fa533aecf92601239137 at A

request r5
----
r5 all       picks B by round_robin of 3
r5 adds      "rid":"88061596509b76fccb74d2de7a538b41",
r5 adds      ,"temperature":0.6
r5 dispatch  B

release r5 end=cut status=200
----
r5 ends      cut after 200
r5 aborts    88061596509b76fccb74d2de7a538b41 at B

# C's turn.
request r6
----
r6 all       picks C by round_robin of 3
r6 adds      ,"temperature":0.6
r6 dispatch  C

release r6
----
r6 ends      complete

# An answer that is whole, be it an error, is nothing to abort.
request r7
----
r7 all       picks A by round_robin of 3
r7 adds      "rid":"8ce9e06a67da7e822ec134c4918a1ec1",
r7 adds      ,"temperature":0.6
r7 dispatch  A

release r7
----
r7 ends      complete

request r8
----
r8 all       picks B by round_robin of 3
r8 adds      "rid":"8586ae84655226a9c60ce28cf5239ebc",
r8 adds      ,"temperature":0.6
r8 dispatch  B

release r8 status=400 end=gone
----
r8 ends      gone after 400

# C's turn.
request r9
----
r9 all       picks C by round_robin of 3
r9 adds      ,"temperature":0.6
r9 dispatch  C

release r9
----
r9 ends      complete

# A client's own rid stays, and so does its request.
request r10
{"model": "m", "rid": "mine", "messages": []}
----
r10 all       picks A by round_robin of 3
r10 adds      ,"temperature":0.6
r10 dispatch  A

release r10 end=gone
----
r10 ends      gone

# A request for several answers is known by several names.
request r11
{"model": "m", "n": 2, "messages": []}
----
r11 all       picks B by round_robin of 3
r11 adds      ,"temperature":0.6
r11 dispatch  B

release r11 end=gone
----
r11 ends      gone

metrics aborts
----
pointsman_aborts_total 4
