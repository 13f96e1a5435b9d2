# Strictly serial traffic spreads although every load is zero when a pick is made.
#
# Field report A21: ties always fell to the same engine, 448 to 0.

config
{"models": {
  "rr": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
  "rnd": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]},
  "p2": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
  "ll": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}
}}
----
4 models, 4 buckets

fleet
A plain models=(rr,rnd,p2,ll)
B plain models=(rr,rnd,p2,ll)
C plain models=(rr,rnd,p2,ll)
----
3 engines

request rr model=rr count=300
----
rr of 300    A 100, B 100, C 100

request rnd model=rnd count=300
----
rnd of 300    A 96, B 88, C 116

request p2 model=p2 count=300
----
p2 of 300    A 101, B 97, C 102

request ll model=ll count=300
----
ll of 300    A 100, B 100, C 100
