# A cap of zero, an unknown cap and a dropped option are refused at the start.
#
# Field report E09: an unset limit acted as zero. Every problem is named at once, with
# its path and what to write.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_2", "admission": {
  "max_inflight_requests": 0, "max_runing_requests": 3}}}}}, {"id": "all"}]}}}
----
5 problems in the filter configuration
  models.m.buckets[0].groups.plain.policy.admission.max_runing_requests: unknown key; did you mean "max_running_requests"?
  models.m.buckets[0].groups.plain.policy.type: "power_of_2" is not a policy; use round_robin, random, power_of_two, load_based, consistent_hash, session_aware, sticky or cache_aware
  models.m.buckets[0].groups.plain.policy.admission.max_inflight_requests: 0 admits nothing; use at least 1 or leave it out
  models.m.buckets[1].id: "all" stands twice; give each bucket its own id
  models.m.buckets[1].groups: has neither plain nor pd; write "plain": {"policy": ...}
