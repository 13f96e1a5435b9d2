# An engine that restarts begins at zero, and late ends of its former life change nothing.
#
# Field reports A07, A41, A50 and A51: counters below zero, counters that leak, a
# restarted engine that looks the least loaded for ever.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request old count=6 keep
----
old of 6      A 3, B 3

load
----
A in flight 3
B in flight 3

kill A
----

heal A generation=2
----

load
----
A in flight 0
B in flight 3

release old-1
----
old-1 ends      complete

release old-3 end=cut
----
old-3 ends      cut

release old-5 end=gone
----
old-5 ends      gone

load
----
A in flight 0
B in flight 3
