# A host that hides bodies is found out, and routing goes on by headers.
#
# The proof is bytes that came without a body callback; a slow client is no proof. The
# model is named by a header, or is the only one there is; the length comes from
# content-length.

config hide-bodies
{"models": {
  "a": {"buckets": [{"id": "short", "limits": {"max": 1000}, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
                    {"id": "long", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
  "b": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}
}}
----
2 models, 3 buckets

fleet
A plain models=(a,b)
----
1 engine

request r1 model=a hint=a input=900
----
r1 waits     at the filter

advance 200ms
----
r1 order     short(1000) long
r1 short     picks A by round_robin of 1
r1 dispatch  A
clock 220ms

log
----
this host does not show request bodies to a held request: routing by headers only (x-pointsman-model names the model). Set allow_on_headers_stop_iteration on the plugin to route by bodies

# From here on nobody waits.
request r2 model=a hint=a input=4000
----
r2 long      picks A by round_robin of 1
r2 dispatch  A

# A body in chunks announces no length: it goes where the longest go.
request r3 model=a hint=a chunked input=900
----
r3 long      picks A by round_robin of 1
r3 dispatch  A

request r4 model=b
----
r4 answer    400 bad_request: the router cannot read request bodies on this proxy; name the model in the header x-pointsman-model

request r5 model=b hint=nobody
----
r5 answer    404 model_not_found: the model "nobody" does not exist here
