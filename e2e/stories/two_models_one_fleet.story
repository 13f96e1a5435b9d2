# A model sees its own engines only, and a shared engine counts the load of both.

config
{"models": {
  "big": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]},
  "small": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}
}}
----
2 models, 2 buckets

fleet
A plain models=(big)
B plain models=(big,small)
C plain models=(small)
----
3 engines

request big model=big count=4 keep
----
big of 4      A 2, B 2

# B carries two of the big model's requests, so the small model's go to C first.
request small model=small count=4 keep
----
small of 4      B 1, C 3

load
----
A in flight 2
B in flight 3
C in flight 3
