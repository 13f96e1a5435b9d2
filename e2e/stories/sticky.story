# sticky keeps a routing key on its engine; a larger fleet moves no key.
#
# Only the loss of an engine does. Requests without a key go by the fallback and bind
# nothing.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky", "fallback": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request blue count=4 routing=blue
----
blue of 4      A 4

request red count=4 routing=red
----
red of 4      B 4

fleet
A plain
B plain
C plain
D plain
----
4 engines

request blue2 count=4 routing=blue
----
blue2 of 4      A 4

request red2 count=4 routing=red
----
red2 of 4      B 4

kill A
----

request blue3 count=4 routing=blue
----
blue3 of 4      D 4

request keyless count=4
----
keyless of 4      B 2, C 1, D 1

bindings
----
routing of m/all/plain -> D
routing of m/all/plain -> B
