# An engine that is down takes no part in any comparison.
#
# Field report A06 and a trap of peers: an unhealthy engine with load zero stayed in
# the minimum and in the mean, so that all others looked overloaded. Here it would
# make the bound of consistent_hash too small.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session", "load_factor": 1.0, "load_floor": 1}}}}]}}}
----
1 model, 1 bucket

fleet
A plain others=5
B plain others=5
C plain
----
3 engines

kill C
----

# Each has a share of 5.5 of the eleven requests, this one included: up to 6 fit.
request blue session=blue
----
blue all       picks B by consistent_hash of 2
blue dispatch  B

request red session=red
----
red all       picks A by consistent_hash of 2
red dispatch  A

request green session=green
----
green all       picks B by consistent_hash of 2
green dispatch  B
