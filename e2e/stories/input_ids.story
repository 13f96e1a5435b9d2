# Chats forwarded with the token ids that the state service made of them
# (engine-selection.md 12.5), so that the engine does not tokenize them again.

config
{"state": {"cluster": "state"}, "abort": {"cluster": "engines"}, "paths": ["/v1/chat/completions", "/v1/completions"],
 "models": {"m": {"input_ids": {"max_tokens": 4}, "sampling": {"override": {"temperature": 0.7}},
  "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain aborts input_ids
----
1 engine

# What is added keeps its order: rid, sampling parameters, ids. All else stays.
ids list=(9707,0,151645)
----
3 ids

request r1 at=1s
{"model": "m", "messages": [{"role": "user", "content": "hi"}] }
----
r1 all       picks A by round_robin of 1
r1 adds      "rid":"ff4ae39f6bb44fb81a3d1e601c115a0b",
r1 adds      ,"temperature":0.7,"input_ids":[9707,0,151645]
r1 dispatch  A

# Ids that were not asked for, being too many, are not sent on.
ids list=(1,2,3,4,5)
----
5 ids

request r2
{"model": "m", "rid": "mine", "messages": [{"role": "user", "content": "hi"}]}
----
r2 all       picks A by round_robin of 1
r2 adds      ,"temperature":0.7
r2 dispatch  A

# A client's own ids are the client's business.
ids caller
----
no ids: caller

request r3
{"model": "m", "rid": "mine", "temperature": 0.7, "messages": [], "input_ids": [1, 2]}
----
r3 all       picks A by round_robin of 1
r3 dispatch  A

ids tools
----
no ids: tools

request r4
{"model": "m", "rid": "mine", "temperature": 0.7, "messages": [], "tools": [{}]}
----
r4 all       picks A by round_robin of 1
r4 dispatch  A

# Without an answer the body goes on as it came.
ids list=(1)
----
1 id

drop replies=1
----

request r5
{"model": "m", "rid": "mine", "temperature": 0.7, "messages": []}
----
r5 all       picks A by round_robin of 1
r5 dispatch  A

hold
----

request r6
{"model": "m", "rid": "mine", "temperature": 0.7, "messages": []}
----
r6 waits     at the filter

advance 200ms
----
r6 all       picks A by round_robin of 1
r6 dispatch  A
clock 1.2s

answer
----

# No chat, nothing to ask.
request r7 path=/v1/completions
{"model": "m", "rid": "mine", "temperature": 0.7, "prompt": "hi"}
----
r7 all       picks A by round_robin of 1
r7 dispatch  A

# An engine that does not read ids beside messages is not given any.
fleet
A plain
----
1 engine

request r8
{"model": "m", "rid": "mine", "temperature": 0.7, "messages": []}
----
r8 all       picks A by round_robin of 1
r8 dispatch  A

metrics input_ids
----
pointsman_input_ids_total outcome=caller_input_ids 1
pointsman_input_ids_total outcome=engine 1
pointsman_input_ids_total outcome=forwarded 1
pointsman_input_ids_total outcome=too_long 1
pointsman_input_ids_total outcome=tools 1
pointsman_input_ids_total outcome=unavailable 2

# Contradictions are refused at the start.
config
{"paths": ["/v1/completions"], "workers": [{"address": "10.0.0.1:80", "models": ["m"]}],
 "models": {"m": {"input_ids": {"max_tokens": 0}, "dp_ranks": "always",
  "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
4 problems in the filter configuration
  models.m.input_ids.max_tokens: 0 is out of range; use 1 to 262144
  models.m.input_ids: needs a state service, which knows the tokens; add "state", or leave it out
  models.m.input_ids: has no effect: only chats are forwarded with ids, and their path is not routed; add "/v1/chat/completions" to paths, or leave it out
  models.m.dp_ranks: "always" needs a state service, which knows how many ranks an engine has; add "state", or leave it out
