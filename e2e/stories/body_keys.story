# Keys may stand in bodies: the header goes first, then the members in the order of the configuration.

config
{"session": {"body_fields": ["metadata.user_id", "user"]}, "models": {"m": {"buckets": [
  {"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request r1 session=blue
{"model": "m", "messages": [], "user": "green"}
----
r1 all       picks C by assigned of 3
r1 dispatch  C

request r2
{"model": "m", "messages": [], "user": "blue"}
----
r2 all       picks C by session_primary of 3
r2 dispatch  C

request r3
{"model": "m", "messages": [], "user": "blue", "metadata": {"user_id": "red"}}
----
r3 all       picks B by assigned of 3
r3 dispatch  B

# Another value than a string, and an empty one, are no key; the next member is looked at.
request r4
{"model": "m", "messages": [], "user": "blue", "metadata": {"user_id": 7}}
----
r4 all       picks C by session_primary of 3
r4 dispatch  C

request r5
{"model": "m", "messages": [], "user": ""}
----
r5 all       picks B by no_session of 3
r5 dispatch  B

# Unusual characters are kept as a hash, and are a key like any other.
request r6
{"model": "m", "messages": [], "user": "größe"}
----
r6 all       picks A by assigned of 3
r6 dispatch  A

request r7
{"model": "m", "messages": [], "user": "gr\u00f6\u00dfe"}
----
r7 all       picks A by session_primary of 3
r7 dispatch  A

bindings
----
session of m/all/plain -> C
session of m/all/plain -> B
session of m/all/plain -> A
