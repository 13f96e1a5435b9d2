# transport_retry names two spares; the load follows the engine that was used.
#
# The engines that were passed over could not be reached: that is a failure of theirs.

config
{"transport_retry": true, "breaker": {"threshold": 1}, "models": {"m": {"buckets": [
  {"id": "all", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {"max_inflight_requests": 3}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
D plain
----
4 engines

request r1
----
r1 all       picks A by round_robin of 4
r1 dispatch  A, then C, then D

respond r1 used=D
----
r1 engine    answers 200

load
----
A in flight 0, breaker open
B in flight 0
C in flight 0, breaker open
D in flight 1

release r1
----
r1 ends      complete

metrics replaced charges
----
pointsman_charges_released_total 1
pointsman_pick_replaced_total 1

# A and C stay away until their cool-downs are over.
request r2
----
r2 all       picks D by round_robin of 2
r2 dispatch  D, then B
