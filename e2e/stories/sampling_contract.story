# A model's sampling contract: fixed values are filled in, others are refused.
#
# Defaults are put into the body as it is; nothing else in it changes.

config
{"models": {"m": {"sampling": {"override": {"temperature": 0.7, "top_p": {"min": 0.1, "max": 0.9}}},
  "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}}
----
1 model, 1 bucket

fleet
A plain
----
1 engine

request silent
{"model": "m", "messages": []}
----
silent all       picks A by round_robin of 1
silent adds      ,"temperature":0.7
silent dispatch  A

request same
{"model": "m", "messages": [], "temperature": 0.7, "top_p": 0.5}
----
same all       picks A by round_robin of 1
same dispatch  A

request hotter
{"model": "m", "messages": [], "temperature": 1.2}
----
hotter answer    400 sampling_contract_violation: "temperature" must be 0.7 for this model

request outside
{"model": "m", "messages": [], "top_p": 0.95}
----
outside answer    400 sampling_contract_violation: "top_p" must be a number from 0.1 to 0.9 for this model

metrics sampling
----
pointsman_answers_total code=sampling_contract_violation 2
pointsman_sampling_violations_total field=temperature 1
pointsman_sampling_violations_total field=top_p 1
