# sticky with the fallback power_of_two places new keys by the pressure of two engines.
#
# Of two engines both are sampled, so the pressed one gets no new key; the keys it has
# stay. The fallback admits all; the caps are sticky's own and reject what it chose.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky", "fallback": "power_of_two", "admission": {"max_waiting_requests": 5}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

report A running=1 waiting=0 uncached=0 kv_used=10 kv_total=10 kv_capacity=1000 running_capacity=16 rate=1000
----

report B running=1 waiting=2 uncached=4000 kv_used=10 kv_total=10 kv_capacity=1000 running_capacity=16 rate=1000
----

request k1 routing=one
----
k1 all       picks A by sticky_assigned of 2
k1 dispatch  A

request k2 routing=two
----
k2 all       picks A by sticky_assigned of 2
k2 dispatch  A

report A running=1 waiting=4 uncached=9000 kv_used=10 kv_total=10 kv_capacity=1000 running_capacity=16 rate=1000
----

request k3 routing=three
----
k3 all       picks B by sticky_assigned of 2
k3 dispatch  B

request k1again routing=one
----
k1again all       picks A by sticky of 2
k1again dispatch  A

request keyless
----
keyless all       picks B by no_routing_key of 2
keyless dispatch  B

# At its cap a key's engine rejects the key; it is not placed anew.
report A running=1 waiting=5 uncached=9000 kv_used=10 kv_total=10 kv_capacity=1000 running_capacity=16 rate=1000
----

request k2again routing=two
----
k2again all       plain rejected A: max_waiting_requests 5 of 5
k2again answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

bindings
----
routing of m/all/plain -> A
routing of m/all/plain -> A
routing of m/all/plain -> B
