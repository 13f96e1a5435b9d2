# The other dialects are routed once the configuration names their paths.
#
# Field report A04: a path that was passed on without being counted put 480 requests
# on one engine. Here a path is either routed whole or not touched.

config
{"paths": ["/v1/chat/completions", "/v1/embeddings", "/generate", "/v1/responses", "/v1/messages"], "generate_model": "m",
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
B plain
----
2 engines

request embed path=/v1/embeddings
{"model": "m", "input": ["one", "two"]}
----
embed all       picks A by load_based of 2
embed dispatch  A

request generate path=/generate
{"text": "Once upon a time", "sampling_params": {"max_new_tokens": 16}}
----
generate all       picks B by load_based of 2
generate dispatch  B

request ids path=/generate
{"input_ids": [1, 2, 3, 4, 5, 6, 7, 8]}
----
ids all       picks A by load_based of 2
ids dispatch  A

explain ids
----
ids asks      model="m" input=8 (token ids) peak=unknown
ids all       picks A by load_based of 2
ids saw       A in-flight 1 no report
ids saw       B in-flight 1 no report

request respond path=/v1/responses
{"model": "m", "input": "hello", "max_output_tokens": 5}
----
respond all       picks B by load_based of 2
respond dispatch  B

request message path=/v1/messages
{"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}
----
message all       picks A by load_based of 2
message dispatch  A

# Not named in this configuration.
request complete path=/v1/completions
----
complete passes    without an endpoint

load
----
A in flight 3
B in flight 2
