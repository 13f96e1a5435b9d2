# Requests of other proxies count, with those of this one.
#
# Field report A42: counts per process let every proxy overload the same engine.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based", "admission": {"max_inflight_requests": 10}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain others=8
B plain others=5
----
2 engines

request r count=7 keep
----
r of 7      A 2, B 5

request one-more
----
one-more all       plain rejected A: max_inflight_requests 10 of 10 and 1 more
one-more answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

load
----
A in flight 2, 8 from other proxies
B in flight 5, 5 from other proxies
