# sticky with the fallback load_based places new keys on the engine with the least load.
#
# The requests of other proxies count. Keyless requests go by load as well, and a known
# key stays on its engine although it has the most.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky", "fallback": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain others=3
B plain others=1
C plain others=2
----
3 engines

request k1 routing=one
----
k1 all       picks B by sticky_assigned of 3
k1 dispatch  B

request k2 count=2 routing=two keep
----
k2 of 2      C 2

request k3 routing=three
----
k3 all       picks B by sticky_assigned of 3
k3 dispatch  B

request k1again count=5 routing=one keep
----
k1again of 5      B 5

request keyless count=3 keep
----
keyless of 3      A 2, C 1

load
----
A in flight 2, 3 from other proxies
B in flight 7, 1 from other proxies
C in flight 3, 2 from other proxies

bindings
----
routing of m/all/plain -> B
routing of m/all/plain -> C
routing of m/all/plain -> B
