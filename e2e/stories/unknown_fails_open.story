# A cap on something unknown is not checked.
#
# Field reports E05, E09 and E10: missing metadata counted as saturated, an unset limit
# acted as zero. Unknown is never zero and never full; requests in flight are always
# known.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {
  "max_running_requests": 1, "max_waiting_requests": 1, "max_inflight_requests": 2}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

# No report: running and waiting are unknown.
request r1
----
r1 all       picks A by round_robin of 1
r1 dispatch  A

# A basic report has only some of them.
report A waiting=0
----

request r2
----
r2 all       picks A by round_robin of 1
r2 dispatch  A

# What this proxy sent is known without any report.
request r3
----
r3 all       plain rejected A: max_inflight_requests 2 of 2
r3 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

release r1
----
r1 ends      complete

release r2
----
r2 ends      complete

report A running=1
----

request r4
----
r4 all       plain rejected A: max_running_requests 1 of 1
r4 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

# The report is stale after five seconds: unknown again.
request r5 at=12s
----
r5 all       picks A by round_robin of 1
r5 dispatch  A
