# worker_services names members by the Kubernetes Services they are behind, which outlive engines; with worker_ids both must hold.

config
{"models": {"m": {"buckets": [
  {"id": "chat", "max_context_tokens": 1000, "groups": {"plain": {"worker_services": ["prod/chat", "prod/spare"],
    "policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}},
  {"id": "one", "max_context_tokens": 2000, "groups": {"plain": {"worker_services": ["prod/chat"], "worker_ids": ["A", "C"],
    "policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}},
  {"id": "none", "max_context_tokens": 3000, "groups": {"plain": {"worker_services": [], "policy": {"type": "round_robin"}}}},
  {"id": "any", "groups": {"plain": {"policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}}]}}}
----
1 model, 4 buckets

fleet
A plain services=(prod/chat)
B plain services=(prod/batch,prod/spare)
C plain
----
3 engines

request r1 input=100
----
r1 order     chat(1000) one(2000) none(3000) any
r1 chat      picks A by round_robin of 2
r1 dispatch  A

request r2 input=100
----
r2 order     chat(1000) one(2000) none(3000) any
r2 chat      picks B by round_robin of 2
r2 dispatch  B

# A and B are at their limits, the second bucket has A only, the third nobody.
request r3 input=100
----
r3 order     chat(1000) one(2000) none(3000) any
r3 chat      plain rejected A: max_inflight_requests 1 of 1 and 1 more
r3 one       plain rejected A: max_inflight_requests 1 of 1
r3 none      plain has no candidates
r3 any       picks C by round_robin of 3
r3 dispatch  C

explain r3
----
r3 asks      model="m" input=100 (estimate) peak=unknown
r3 order     chat(1000) one(2000) none(3000) any
r3 chat      plain rejected A: max_inflight_requests 1 of 1 and 1 more
r3           A max_inflight_requests 1 of 1
r3           B max_inflight_requests 1 of 1
r3           C is no member
r3 one       plain rejected A: max_inflight_requests 1 of 1
r3           A max_inflight_requests 1 of 1
r3           B is no member
r3           C is no member
r3 none      plain has no candidates
r3           A is no member
r3           B is no member
r3           C is no member
r3 any       picks C by round_robin of 3
r3 saw       C in-flight 0 no report
r3 saw       A in-flight 1 no report
r3 saw       B in-flight 1 no report

release r1
----
r1 ends      complete

# An engine that replaces A behind the same service is a member from its first sync on.
fleet
A2 plain services=(prod/chat)
B plain services=(prod/batch,prod/spare)
C plain services=(prod/chat)
----
3 engines

request r4 input=100
----
r4 order     chat(1000) one(2000) none(3000) any
r4 chat      picks A2 by round_robin of 3
r4 dispatch  A2

request r5 input=1500
----
r5 order     one(2000) none(3000) any
r5 one       plain rejected C: max_inflight_requests 1 of 1
r5 none      plain has no candidates
r5 any       plain rejected A2: max_inflight_requests 1 of 1 and 2 more
r5 answer    503 policy_selection_failed: every engine that could take this request is at its limit; try again (retry after 1 s)

log
----
groups name workers the fleet does not have: A

# A service that nobody is behind is reported.
fleet
B plain services=(prod/spare)
----
1 engine

log
----
groups name workers the fleet does not have: A, C; groups name services that no worker is behind: prod/chat

# Mistakes are refused by path.
config
{"worker_services": ["prod/chat"], "workers": [{"address": "10.0.0.1:1", "models": ["m"], "services": ["chat", "prod/x"]}],
 "models": {"m": {"buckets": [
  {"id": "a", "groups": {"plain": {"worker_services": ["prod/chat", "Prod/Chat", "prod/chat"], "policy": {"type": "random"}}}}]}}}
----
6 problems in the filter configuration
  worker_services: belongs to a group; write it into "plain", "prefill" or "decode"
  models.m.buckets[0].groups.plain.worker_services[0]: no worker is behind "prod/chat"; add it to the services of a worker or correct it
  models.m.buckets[0].groups.plain.worker_services[1]: "Prod/Chat" is not a Kubernetes Service; write namespace/name
  models.m.buckets[0].groups.plain.worker_services[2]: "prod/chat" stands twice; keep one
  workers[0].services[0]: "chat" is not a Kubernetes Service; write namespace/name
  workers[0].services: has no effect: no group names one of them; leave it out or use "worker_services" in a group
