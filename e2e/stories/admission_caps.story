# Each of the five caps refuses at its value and admits below it.
#
# The receipt names the cap, the value and the limit.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {
  "max_running_requests": 4, "max_waiting_requests": 3, "max_kv_tokens": 1000,
  "max_pending_prefill_tokens": 5000, "max_inflight_requests": 6}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

report A running=3 waiting=2 kv_total=999 uncached=4999 others=5
----

request r1
----
r1 all       picks A by round_robin of 1
r1 dispatch  A

release r1
----
r1 ends      complete

report A running=4
----

request r2
----
r2 all       plain rejected A: max_running_requests 4 of 4
r2 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

report A waiting=3
----

request r3
----
r3 all       plain rejected A: max_waiting_requests 3 of 3
r3 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

report A kv_total=1000
----

request r4
----
r4 all       plain rejected A: max_kv_tokens 1000 of 1000
r4 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

report A uncached=5000
----

request r5
----
r5 all       plain rejected A: max_pending_prefill_tokens 5000 of 5000
r5 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

report A running=0 others=6
----

request r6
----
r6 all       plain rejected A: max_inflight_requests 6 of 6
r6 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)
