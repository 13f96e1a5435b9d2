# A request is given back exactly once, whatever ends it.
#
# Field reports A44, A46, A47, A49: a hook that failed, a client that left in silence,
# a reset before headers, and finalisers that ran twice. Field report A45: the load
# stays until the stream ends, not until the answer begins.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request whole
----
whole all       picks A by round_robin of 1
whole dispatch  A

request cut
----
cut all       picks A by round_robin of 1
cut dispatch  A

request left
----
left all       picks A by round_robin of 1
left dispatch  A

request slow
----
slow all       picks A by round_robin of 1
slow dispatch  A

request nobody
----
nobody all       picks A by round_robin of 1
nobody dispatch  A

load
----
A in flight 5

respond whole
----
whole engine    answers 200

load
----
A in flight 5

release whole
----
whole ends      complete

release cut end=cut
----
cut ends      cut

release left end=gone
----
left ends      gone

release slow end=timeout
----
slow ends      timeout

release nobody end=nohost
----
nobody ends      nohost

load
----
A in flight 0, failures 2

metrics charges failures
----
pointsman_charges_released_total 5
pointsman_engine_failures_total 2
