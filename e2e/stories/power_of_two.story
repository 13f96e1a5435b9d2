# power_of_two compares two engines and takes the one under less pressure.
#
# Both engines report natively, so reported work decides: the waiting prompt tokens
# of A take longer than those of B. Requests in flight only break ties.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

report A running=1 waiting=9 uncached=9000 kv_used=10 kv_total=20 kv_capacity=1000 running_capacity=64
----

report B running=60 waiting=0 uncached=0 kv_used=900 kv_total=950 kv_capacity=1000 running_capacity=64
----

request r1
----
r1 all       picks B by power_of_two of 2
r1 dispatch  B

explain r1
----
r1 asks      model="m" input=15 (estimate) peak=unknown
r1 all       picks B by power_of_two of 2
r1 saw       B in-flight 0 report 1000 ms old (native) running 60 waiting 0 uncached 0 kv-used 900 kv-total 950 kv-capacity 1000
r1 saw       A in-flight 0 report 2020 ms old (native) running 1 waiting 9 uncached 9000 kv-used 10 kv-total 20 kv-capacity 1000

# The report of A is gone after five seconds. One side is unknown then, so requests
# in flight decide: never a reported value against a local one.
advance 5s
----
clock 7.04s

report B running=60 waiting=0 uncached=0 kv_used=900 kv_total=950 kv_capacity=1000 running_capacity=64
----

request r2
----
r2 all       picks A by power_of_two of 2
r2 dispatch  A

explain r2
----
r2 asks      model="m" input=15 (estimate) peak=unknown
r2 all       picks A by power_of_two of 2
r2 saw       A in-flight 0 report 7220 ms old (stale)
r2 saw       B in-flight 1 report 200 ms old (native) running 60 waiting 0 uncached 0 kv-used 900 kv-total 950 kv-capacity 1000
