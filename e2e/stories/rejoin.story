# An engine that leaves with requests in flight finds them again when it comes back.
#
# Field report A50: removed and added again, the counter went below zero. Field report
# A05: a refreshed entry set the load to zero.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request early count=6 keep
----
early of 6      A 3, B 3

fleet
B plain
----
1 engine

request r1
----
r1 all       picks B by load_based of 1
r1 dispatch  B

fleet
A plain
B plain
----
2 engines

load
----
A in flight 3
B in flight 4

release early-1
----
early-1 ends      complete

release early-3
----
early-3 ends      complete

load
----
A in flight 1
B in flight 4

# The same fleet told again changes nothing.
fleet
A plain
B plain
----
2 engines

load
----
A in flight 1
B in flight 4
