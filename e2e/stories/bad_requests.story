# Bodies that cannot be routed are the client's fault and cost no engine anything.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request no-json
{"model": "m", "messages": [
----
no-json answer    400 bad_request: the request body is not valid JSON

request list
[1, 2]
----
list answer    400 bad_request: the request body must be a JSON object

request no-model
{"messages": []}
----
no-model answer    400 bad_request: "model" is missing: name the model the request is for

request model-twice
{"model": "m", "messages": [], "model": "other"}
----
model-twice answer    400 bad_request: "model" stands twice in the request body

request model-number
{"model": 7, "messages": []}
----
model-number answer    400 bad_request: "model" must be a string

request bad-budget
{"model": "m", "messages": [], "max_tokens": -1}
----
bad-budget answer    400 bad_request: "max_tokens" must be a whole number of tokens, zero or more

request empty no-body
----
empty answer    400 bad_request: the request has no body; send a JSON object

metrics
----
pointsman_answers_total code=bad_request 7
pointsman_sync_total outcome=ok 1
