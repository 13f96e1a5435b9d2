# What is not ours passes untouched: other paths, other methods.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request r1 path=/metrics method=GET
----
r1 passes    without an endpoint

request r2 path=/v1/files
----
r2 passes    without an endpoint

request r3 path=/v1/chat/completions?trace=1
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

request r4 method=GET
----
r4 passes    without an endpoint

# An endpoint that the client made up is removed on the way.
request r5 path=/v1/files header=(x-pointsman-endpoint,10.9.9.9:1)
----
r5 passes    without an endpoint
