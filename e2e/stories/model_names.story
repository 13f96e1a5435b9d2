# Aliases and adapters lead to their model; names nobody knows are 404.
#
# A model that is routed but that no engine serves is 503, since it may come back.

config
{"models": {"base": {"aliases": ["chat"], "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
            "idle": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
2 models, 2 buckets

fleet
A plain models=(base,chat) adapters=(poet:base)
B plain models=(base)
----
2 engines

request r1 model=chat
----
r1 all       picks A by round_robin of 2
r1 dispatch  A

# Only A has the adapter loaded.
request r2 model=poet count=4
----
r2 of 4      A 4

request r3 model=idle
----
r3 all       plain has no candidates
r3 answer    503 no_healthy_workers: no engine is available for this model; try again (retry after 1 s)

request r4 model=nobody
----
r4 answer    404 model_not_found: the model "nobody" does not exist here

request list method=GET path=/v1/models
----
list answer    200 {"object":"list","data":[{"id":"base","object":"model","owned_by":"pointsman"},{"id":"chat","object":"model","owned_by":"pointsman"},{"id":"poet","object":"model","owned_by":"pointsman","parent":"base"}]}
