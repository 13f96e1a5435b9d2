# slo_first puts the buckets that meet the target in front; the others stay as a way out.
#
# A bucket without an estimate meets no target. Without the header nothing changes.

config
{"models": {"m": {"ttft_slo": "slo_first", "buckets": [
  {"id": "cheap", "rank": 1, "ttft_ms": 2000, "groups": {"plain": {"worker_ids": ["C"], "policy": {"type": "round_robin"}}}},
  {"id": "fast", "rank": 2, "ttft_ms": 300, "groups": {"plain": {"worker_ids": ["F"],
    "policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}},
  {"id": "unrated", "rank": 3, "groups": {"plain": {"policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 3 buckets

fleet
C plain
F plain
----
2 engines

request r1
----
r1 order     cheap fast unrated
r1 cheap     picks C by round_robin of 1
r1 dispatch  C

request r2 ttft=500
----
r2 order     fast cheap unrated
r2 fast      picks F by round_robin of 1
r2 dispatch  F

# The fast bucket is full: the request leaves its tier.
request r3 ttft=500
----
r3 order     fast cheap unrated
r3 fast      plain rejected F: max_inflight_requests 1 of 1
r3 cheap     picks C by round_robin of 1
r3 dispatch  C

explain r3
----
r3 asks      model="m" input=15 (estimate) peak=unknown ttft_slo_ms=500
r3 order     fast cheap unrated
r3 fast      plain rejected F: max_inflight_requests 1 of 1
r3           F max_inflight_requests 1 of 1
r3           C is no member
r3 cheap     picks C by round_robin of 1
r3 saw       C in-flight 1 no report
