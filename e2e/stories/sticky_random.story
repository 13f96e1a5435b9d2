# sticky with the fallback random places new keys without a look at load.
#
# Known keys stay whatever the fallback is.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky", "fallback": "random"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain others=50
----
2 engines

request k1 routing=one
----
k1 all       picks A by sticky_assigned of 2
k1 dispatch  A

request k2 routing=two
----
k2 all       picks A by sticky_assigned of 2
k2 dispatch  A

request k3 routing=three
----
k3 all       picks A by sticky_assigned of 2
k3 dispatch  A

request k4 routing=four
----
k4 all       picks B by sticky_assigned of 2
k4 dispatch  B

request keyless count=40
----
keyless of 40     A 25, B 15

request again count=3 routing=one
----
again of 3      A 3

bindings
----
routing of m/all/plain -> A
routing of m/all/plain -> A
routing of m/all/plain -> A
routing of m/all/plain -> B
