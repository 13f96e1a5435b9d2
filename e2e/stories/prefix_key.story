# With "key": "prefix" equal beginnings of prompts share an engine.
#
# Field report A20: chat bodies hashed as empty because only "prompt" was looked at;
# the key here is the text of messages or prompt, whichever the dialect has.

config
{"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "prefix", "prefix_bytes": 64}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
C plain
D plain
----
4 engines

request s1 count=10 prompt=you-are-a-patient-teacher-of-mathematics-and-nothing-else-1
----
s1 of 10     B 10

# The same beginning, another end.
request s1b count=10 prompt=you-are-a-patient-teacher-of-mathematics-and-of-music
----
s1b of 10     B 10

request s2 count=10 prompt=write-terse-commit-messages-in-the-imperative-mood-always-2
----
s2 of 10     C 10

request s3 count=10 path=/v1/completions prompt=once-upon-a-time
----
s3 of 10     D 10

request s4 count=10 path=/v1/completions prompt=the-quick-brown-fox
----
s4 of 10     C 10
