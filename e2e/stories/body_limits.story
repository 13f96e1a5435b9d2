# Too large, compressed or too slow: 413, 415 and 408, before any engine is looked at.

config
{"max_body_bytes": 1000, "body_timeout_ms": 3000, "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request announced length=1001
----
announced answer    413 payload_too_large: the request body is larger than 1000 bytes

request unannounced chunked input=251
----
unannounced answer    413 payload_too_large: the request body is larger than 1000 bytes

request fits input=250
----
fits all       picks A by round_robin of 1
fits dispatch  A

request packed encoding=gzip
----
packed answer    415 unsupported_content_encoding: send the request body without content-encoding

request plain encoding=identity
----
plain all       picks A by round_robin of 1
plain dispatch  A

request slow part
----
slow waits     for the rest of its body

advance 2s
----
clock 2.02s

request patient part
----
patient waits     for the rest of its body

advance 2s
----
slow answer    408 body_timeout: the request body did not arrive in time
clock 4.02s

body patient
----
patient all       picks A by round_robin of 1
patient dispatch  A
