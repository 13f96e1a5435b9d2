# A group's own policy overrides the model's, with its own settings only.
#
# The owner's document, section 7: an explicit role-group policy overrides the default.
# The long bucket does not inherit the cap of the default, and a default that no group
# takes is refused.

config
{"models": {"m": {"policy": {"type": "load_based", "admission": {"max_inflight_requests": 1}}, "buckets": [
  {"id": "short", "max_context_tokens": 8192, "groups": {"plain": {"worker_ids": ["A", "B"]}}},
  {"id": "long", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 2 buckets

fleet
A plain
B plain
----
2 engines

request r1 input=100
----
r1 order     short(8192) long
r1 short     picks A by load_based of 2
r1 dispatch  A

request r2 input=100
----
r2 order     short(8192) long
r2 short     picks B by load_based of 2
r2 dispatch  B

request r3 input=100
----
r3 order     short(8192) long
r3 short     plain rejected A: max_inflight_requests 1 of 1 and 1 more
r3 long      picks A by round_robin of 2
r3 dispatch  A

request r4 input=100
----
r4 order     short(8192) long
r4 short     plain rejected A: max_inflight_requests 2 of 1 and 1 more
r4 long      picks B by round_robin of 2
r4 dispatch  B

# A rejection counts although the next bucket makes it good.
metrics failures answers
----
pointsman_selection_failures_total reason=max_inflight_requests 2

config
{"models": {"m": {"policy": {"type": "load_based"}, "buckets": [
  {"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 problem in the filter configuration
  models.m.policy: has no effect: every group has a policy of its own or of its stage; leave it out, or leave a group's own policy out
