# best_effort keeps the fast buckets for those who ask for more.

config
{"models": {"m": {"tps_slo": "best_effort", "buckets": [
  {"id": "fast", "rank": 1, "tokens_per_second": 100, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "slow", "rank": 2, "tokens_per_second": 20, "groups": {"plain": {"policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 2 buckets

fleet
A plain
----
1 engine

request r1
----
r1 order     fast slow
r1 fast      picks A by round_robin of 1
r1 dispatch  A

request r2 tps=10
----
r2 order     fast slow
r2 fast      picks A by round_robin of 1
r2 dispatch  A

request r3 tps=50
----
r3 order     slow fast
r3 slow      picks A by round_robin of 1
r3 dispatch  A
