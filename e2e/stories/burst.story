# A burst before any report comes back does not go to one engine.
#
# Trap of peers: load observed only from finished work or from a scrape sends a whole
# burst to the engine that looked idle. Requests count from the pick on. Field
# reports A02, A32, A34: the same with waves and with a frozen sample.

config
{"models": {
  "ll": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]},
  "p2": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two", "choices": 4}}}}]}
}}
----
2 models, 2 buckets

fleet
A plain models=(ll,p2)
B plain models=(ll,p2)
C plain models=(ll,p2)
D plain models=(ll,p2)
----
4 engines

request ll model=ll count=40 keep
----
ll of 40     A 10, B 10, C 10, D 10

request p2 model=p2 count=40 keep
----
p2 of 40     A 10, B 10, C 10, D 10

load
----
A in flight 20
B in flight 20
C in flight 20
D in flight 20
