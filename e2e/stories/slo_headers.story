# A bad target is refused only where it is looked at.
#
# Trap of peers: client numbers that overflow when converted. A day is the longest
# time to first token.

config
{"models": {
  "asks": {"ttft_slo": "slo_first", "tps_slo": "slo_first", "buckets": [
    {"id": "all", "ttft_ms": 500, "tokens_per_second": 30, "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
  "not": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}
}}
----
2 models, 2 buckets

fleet
A plain models=(asks,not)
----
1 engine

request r1 model=asks ttft=soon
----
r1 answer    400 bad_request: the header x-sgl-ttft-slo-ms must be a whole number of milliseconds from 1 to 86400000

request r2 model=asks ttft=86400001
----
r2 answer    400 bad_request: the header x-sgl-ttft-slo-ms must be a whole number of milliseconds from 1 to 86400000

request r3 model=asks ttft=18446744073709551616
----
r3 answer    400 bad_request: the header x-sgl-ttft-slo-ms must be a whole number of milliseconds from 1 to 86400000

request r4 model=asks tps=-1
----
r4 answer    400 bad_request: the header x-sgl-tps-slo must be a number of tokens per second above 0

request r5 model=asks tps=1e400
----
r5 answer    400 bad_request: the header x-sgl-tps-slo must be a number of tokens per second above 0

request r6 model=not ttft=soon tps=never
----
r6 all       picks A by round_robin of 1
r6 dispatch  A
