# random picks among those that admission lets through.
#
# It never goes by load, so a cap is what keeps it off a full engine.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random", "admission": {"max_waiting_requests": 5}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request before count=40
----
before of 40     A 25, B 15

report B waiting=5
----

request after count=40
----
after of 40     A 40

report A waiting=6
----

request r1
----
r1 all       plain rejected A: max_waiting_requests 6 of 5 and 1 more
r1 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

explain r1
----
r1 asks      model="m" input=15 (estimate) peak=unknown
r1 all       plain rejected A: max_waiting_requests 6 of 5 and 1 more
r1           A max_waiting_requests 6 of 5
r1           B max_waiting_requests 5 of 5
