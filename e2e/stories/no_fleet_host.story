# on_no_state: host lets the proxy choose while no fleet is known.

config
{"on_no_state": "host", "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

request r1
----
r1 passes    without an endpoint

fleet
A plain
----
1 engine

request r2
----
r2 all       picks A by round_robin of 1
r2 dispatch  A

metrics requests
----
pointsman_requests_total outcome=routed 1
pointsman_requests_total outcome=unplaced 1
