# An engine without a report is unknown, never idle.
#
# Trap of peers: zero for "unknown" makes the engine whose metrics failed the most
# attractive one. When one candidate has no fresh report, requests in flight decide
# for all of them (field reports A57, E05).

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain others=4
----
2 engines

# A reports a lot of work, B nothing at all. Its four requests in flight from other
# proxies are what is known of both kinds: none at A, four at B.
report A running=30 waiting=3
----

request r1
----
r1 all       picks A by load_based of 2
r1 dispatch  A

explain r1
----
r1 asks      model="m" input=15 (estimate) peak=unknown
r1 all       picks A by load_based of 2
r1 saw       A in-flight 0 report 1020 ms old (basic) running 30 waiting 3
r1 saw       B in-flight 4 no report
