# Every way that sticky takes to an engine has a reason of its own.
#
# A new key is assigned, a known one is followed, a request without one goes by the
# fallback and binds nothing, and while the state service cannot be asked a new key
# goes by its hash, unbound, so that its next request comes to the same engine. An
# empty header is no key.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request new routing=blue
----
new all       picks A by sticky_assigned of 3
new dispatch  A

request known routing=blue
----
known all       picks A by sticky of 3
known dispatch  A

request keyless
----
keyless all       picks B by no_routing_key of 3
keyless dispatch  B

request empty header=(x-sgl-routing-key,)
----
empty all       picks C by no_routing_key of 3
empty dispatch  C

bindings
----
routing of m/all/plain -> A

drop
----

request lost count=3 routing=green
----
lost of 3      B 3

request remembered routing=blue
----
remembered all       picks A by sticky of 3
remembered dispatch  A

drop off
----

advance 2s
----
clock 2.02s

request assigned routing=green
----
assigned all       picks A by sticky_assigned of 3
assigned dispatch  A

bindings
----
routing of m/all/plain -> A
routing of m/all/plain -> A

metrics picks unbound
----
pointsman_picks_total reason=no_routing_key 2
pointsman_picks_total reason=sticky 2
pointsman_picks_total reason=sticky_assigned 2
pointsman_picks_total reason=sticky_unbound 3
pointsman_unbound_total cause=unavailable 3
