# A session whose engine is gone is placed anew; one whose engine came back follows it.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request first session=blue
----
first all       picks A by assigned of 2
first dispatch  A

release first
----
first ends      complete

bindings
----
session of m/all/plain -> A

drain A
----

drain B
----

heal B
----

request second session=blue
----
second all       picks A by session_primary of 2
second dispatch  A

bindings
----
session of m/all/plain -> A

heal A
----

request third session=blue
----
third all       picks A by session_primary of 2
third dispatch  A
