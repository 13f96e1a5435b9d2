# A hot key does not drown its engine.
#
# Field report A16: a hashed session stayed on a saturated engine until the cache
# there was worth nothing. Above the load bound a key overflows to its next engine,
# and comes back when the load is gone.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {
  "policy": {"type": "consistent_hash", "key": "routing", "load_factor": 1.25, "load_floor": 4}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request hot count=12 keep routing=tenant-7
----
hot of 12     A 2, B 5, C 5

request r1 routing=tenant-7
----
r1 all       picks B by consistent_hash of 3
r1 dispatch  B

release hot
----
hot ends      12 requests complete

request r2 count=10 routing=tenant-7
----
r2 of 10     B 10

metrics picks
----
pointsman_picks_total reason=consistent_hash 16
pointsman_picks_total reason=consistent_hash_overflow 7
