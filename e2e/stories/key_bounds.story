# Keys from clients are bounded and never shown.
#
# Field report H12 and a trap of peers: an unbounded map keyed by what clients send. A
# key that is no visible ASCII is no key. The receipt holds no key at all.

config
{"session": {"header": "x-tenant"}, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request r1 header=(x-tenant,blue)
----
r1 all       picks B by consistent_hash of 2
r1 dispatch  B

request r2 header=(x-tenant,blåtand)
----
r2 all       picks A by no_key of 2
r2 dispatch  A

# A long key is used by its hash: the same engine each time, never the text.
request long count=5 header=(x-tenant,kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk)
----
long of 5      A 5

# The default header is not read once another one is named.
request r3 session=blue
----
r3 all       picks B by no_key of 2
r3 dispatch  B

explain r1
----
r1 asks      model="m" input=15 (estimate) peak=unknown
r1 all       picks B by consistent_hash of 2
r1 saw       B in-flight 0 no report
r1 saw       A in-flight 0 no report
