# A report counts for five seconds from when it was taken, not from when it came.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {"max_running_requests": 1}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

report A at=2s running=1
----

request fresh at=6900ms
----
fresh all       plain rejected A: max_running_requests 1 of 1
fresh answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

request stale at=7200ms
----
stale all       picks A by round_robin of 1
stale dispatch  A

explain stale
----
stale asks      model="m" input=15 (estimate) peak=unknown
stale all       picks A by round_robin of 1
stale saw       A in-flight 0 report 5200 ms old (stale)

# A new report is known with the next sync.
report A running=1
----

request again
----
again all       plain rejected A: max_running_requests 1 of 1
again answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

explain again
----
again asks      model="m" input=15 (estimate) peak=unknown
again all       plain rejected A: max_running_requests 1 of 1
again           A max_running_requests 1 of 1
