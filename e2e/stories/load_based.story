# load_based takes the least of reported work plus what this proxy sent since.
#
# Field report A32: a sample that stood still for seconds made one engine the best
# for all requests of that time. Requests sent after the report are added to it.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

report A running=2 waiting=0
----

report B running=5 waiting=1
----

# A stands at 2 and B at 6: four go to A before they are level.
request one count=4 keep
----
one of 4      A 4

request two count=6 keep
----
two of 6      A 3, B 3
