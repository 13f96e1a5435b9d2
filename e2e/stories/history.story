# cache_aware by history needs no call: the filter knows what it sent where (design section 5b).

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "history"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

# Nothing was sent yet.
request r1 input=4000
----
r1 all       picks C by no_cache_candidate of 3, holding 0 tokens by history
r1 dispatch  C

release r1
----
r1 ends      complete

# The same prompt goes where it is cached, however much that engine has to do.
request r2 input=4000
----
r2 all       picks C by cache_candidate of 3, holding 4000 tokens by history
r2 dispatch  C

release r2
----
r2 ends      complete

# A third time it is nobody's conversation: what many send attracts and does not bind.
request r3 input=4000
----
r3 all       picks C by shared_prefix of 3, holding 4000 tokens by history
r3 dispatch  C

explain r3
----
r3 asks      model="m" input=4000 (estimate) peak=unknown
r3 all       picks C by shared_prefix of 3, holding 4000 tokens by history
r3 saw       C in-flight 0 no report
r3 saw       A in-flight 0 no report
r3 saw       B in-flight 0 no report

metrics
----
pointsman_cache_decisions_total decision=cache_hit 2
pointsman_cache_decisions_total decision=cache_miss 1
pointsman_charges_released_total 2
pointsman_picks_total reason=cache_candidate 1
pointsman_picks_total reason=no_cache_candidate 1
pointsman_picks_total reason=shared_prefix 1
pointsman_requests_total outcome=routed 3
pointsman_sync_total outcome=ok 1
