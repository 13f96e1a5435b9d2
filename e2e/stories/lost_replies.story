# A lost reply costs nothing but time.
#
# What the filter reports are gauges, so a report that is sent again changes nothing;
# what it missed comes with the next reply.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request one count=4 keep
----
one of 4      A 2, B 2

drop replies=2
----

drain A
----

# The filter has not heard of it.
request two count=4 keep
----
two of 4      A 2, B 2

advance 400ms
----
clock 640ms

request three count=4 keep
----
three of 4      B 4

load
----
A in flight 4, draining
B in flight 8
