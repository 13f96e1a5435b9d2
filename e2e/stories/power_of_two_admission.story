# Admission is asked once, of the winner: its rejection is the pick's.
#
# power_of_two never samples again. With a choice of all engines the winner is the
# least loaded one; if that one is full the request goes on to the next bucket.

config
{"models": {"m": {"buckets": [
  {"id": "first", "rank": 1, "groups": {"plain": {"worker_ids": ["A", "B"],
    "policy": {"type": "power_of_two", "choices": 2, "admission": {"max_kv_tokens": 500}}}}},
  {"id": "second", "rank": 2, "groups": {"plain": {"worker_ids": ["C"], "policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 2 buckets

fleet
A plain
B plain
C plain
----
3 engines

# A has the least requests in flight and no room for tokens; B would have room.
report A kv_total=500
----

report B kv_total=100 others=3
----

request r1
----
r1 order     first second
r1 first     plain rejected A: max_kv_tokens 500 of 500
r1 second    picks C by round_robin of 1
r1 dispatch  C

explain r1
----
r1 asks      model="m" input=15 (estimate) peak=unknown
r1 order     first second
r1 first     plain rejected A: max_kv_tokens 500 of 500
r1           A max_kv_tokens 500 of 500
r1           C is no member
r1 second    picks C by round_robin of 1
r1 saw       C in-flight 0 no report

# At the cap is full, one below is not.
report A kv_total=499
----

request r2
----
r2 order     first second
r2 first     picks A by power_of_two of 2
r2 dispatch  A
