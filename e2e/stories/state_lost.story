# Without the state service the last fleet stays; reports and foreign load age out.
#
# Field report A27: nothing learned from one source may stay for ever because another
# went silent.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based", "admission": {"max_running_requests": 8}}}}}]}}}
----
1 model, 1 bucket

fleet
A plain others=9
B plain
----
2 engines

report B running=8
----

request r1
----
r1 all       picks A by load_based of 2
r1 dispatch  A

drop
----

advance 4s
----
clock 5.04s

request r2
----
r2 all       picks B by load_based of 2
r2 dispatch  B

# Five seconds after the last sync the requests of other proxies at A are forgotten.
advance 2s
----
clock 7.04s

request r3
----
r3 all       picks A by load_based of 2
r3 dispatch  A

log
----
the state service cannot be reached: the call was cut; routing goes on with what is known

drop off
----

advance 1s
----
clock 8.04s

log
----
the state service answers again

explain r3
----
r3 asks      model="m" input=15 (estimate) peak=unknown
r3 all       picks A by load_based of 2
r3 saw       A in-flight 1 no report
r3 saw       B in-flight 1 report 7020 ms old (stale)
