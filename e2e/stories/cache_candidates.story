# Of n engines the best min(n, max, max(min, ceil(ratio * n))) holders are looked at, before admission (engine-selection.md 9.4).

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware",
  "candidate_min_workers": 1, "candidate_ratio": 0.25, "candidate_max_workers": 3, "admission": {"max_inflight_requests": 4}}}}}]}}}
----
1 model, 1 bucket

# Eight engines: two holders are looked at.
fleet
A plain others=4
B plain others=4
C plain
D plain
E plain
F plain
G plain
H plain
----
8 engines

kv blocks=100
A 100
B 99
C 98
----
local finds 3 holders of 100 blocks

# The two best are at their limit. C holds nearly as much, and is not looked at: the cap comes before admission.
request r1 input=4000
----
r1 all       plain rejected A: max_inflight_requests 4 of 4 and 1 more
r1 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

# Nine engines: ceil(2.25) are three.
fleet
A plain others=4
B plain others=4
C plain
D plain
E plain
F plain
G plain
H plain
I plain
----
9 engines

request r2 input=4000
----
r2 all       picks C by cache_candidate of 9, holding 3920 tokens by local
r2 dispatch  C

# Never more than the maximum.
config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware",
  "candidate_min_workers": 1, "candidate_ratio": 1, "candidate_max_workers": 2, "admission": {"max_inflight_requests": 4}}}}}]}}}
----
1 model, 1 bucket

request r3 input=4000
----
r3 all       plain rejected A: max_inflight_requests 4 of 4 and 1 more
r3 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

# At least the minimum, whatever the ratio.
config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware",
  "candidate_min_workers": 3, "candidate_ratio": 0, "admission": {"max_inflight_requests": 4}}}}}]}}}
----
1 model, 1 bucket

request r4 input=4000
----
r4 all       picks C by cache_candidate of 9, holding 3920 tokens by local
r4 dispatch  C
