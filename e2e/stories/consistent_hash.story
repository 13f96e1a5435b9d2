# consistent_hash keeps a key on one engine without any state.
#
# Field report H09: a session header must hold a conversation together with no store
# behind it; H05: the header is found in any case. Field report A29: keys and engine
# names are hashed apart, so no text passes for another.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
----
3 engines

request blue count=20 session=blue
----
blue of 20     B 20

request red count=20 header=(X-Session-ID,red)
----
red of 20     C 20

request green count=20 session=green
----
green of 20     B 20

# A joining engine moves its own share only; here that is at most one of the keys.
fleet
A plain
B plain
C plain
D plain
----
4 engines

request blue2 count=20 session=blue
----
blue2 of 20     D 20

request red2 count=20 session=red
----
red2 of 20     C 20

request green2 count=20 session=green
----
green2 of 20     B 20

# Without a key the request goes by load.
request r1
----
r1 all       picks C by no_key of 4
r1 dispatch  C
