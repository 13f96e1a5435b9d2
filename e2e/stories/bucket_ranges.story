# Bounds are inclusive, and the peak is held against the context.
#
# A request whose output is not limited is held by its input alone.

config
{"models": {"m": {"buckets": [
  {"id": "short", "limits": {"max": 1000}, "max_context_tokens": 1500, "groups": {"plain": {"policy": {"type": "round_robin"}}}},
  {"id": "long", "limits": {"min": 1001, "max": 8000}, "max_context_tokens": 8192, "groups": {"plain": {"policy": {"type": "round_robin"}}}}
]}}}
----
1 model, 2 buckets

fleet
A plain
----
1 engine

request at-max input=1000 peak=1500
----
at-max short     picks A by round_robin of 1
at-max dispatch  A

request above-peak input=1000 peak=1501
----
above-peak answer    400 bad_request: no bucket takes 1000 prompt tokens with 1501 tokens in all

request at-min input=1001 peak=8192
----
at-min long      picks A by round_robin of 1
at-min dispatch  A

request unlimited input=8000
----
unlimited long      picks A by round_robin of 1
unlimited dispatch  A

request too-long input=8001
----
too-long answer    400 bad_request: no bucket takes 8001 prompt tokens

request peak-too-long input=8000 peak=8193
----
peak-too-long answer    400 bad_request: no bucket takes 8000 prompt tokens with 8193 tokens in all

request overflow input=1000 output=18446744073709551615
----
overflow answer    400 bad_request: the requested output is too long to add to the prompt
