# worker_header tells clients which engine answered them; transport_retry is followed.

config
{"transport_retry": true, "worker_header": true, "models": {"m": {"buckets": [
  {"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request r1
----
r1 all       picks A by round_robin of 3
r1 dispatch  A, then C, then B

respond r1
----
r1 engine    answers 200, the client is told A

request r2
----
r2 all       picks B by round_robin of 3
r2 dispatch  B, then A, then C

respond r2 used=C
----
r2 engine    answers 200, the client is told C

# An engine's errors are told apart by the same header.
request r3
----
r3 all       picks C by round_robin of 3
r3 dispatch  C, then B, then A

respond r3 status=500
----
r3 engine    answers 500, the client is told C

# Nobody is told of an engine where none was asked.
request r4 path=/v1/files
----
r4 passes    without an endpoint

respond r4
----
r4 engine    answers 200
