# Static workers are a fleet without a state service.
#
# The shipped configurations for one machine work this way; nothing is synced.

config
{"workers": [{"id": "near", "address": "127.0.0.1:8001", "models": ["m"]}, {"address": "127.0.0.1:8002", "models": ["m"]}],
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two", "choices": 2}}}}]}}}
----
1 model, 1 bucket

request r1
----
r1 all       picks 127.0.0.1:8002 by power_of_two of 2
r1 dispatch  127.0.0.1:8002

request r2
----
r2 all       picks near by power_of_two of 2
r2 dispatch  near

metrics
----
pointsman_picks_total reason=power_of_two 2
pointsman_requests_total outcome=routed 2
