package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidate_root(t *testing.T) {
	for _, tt := range []struct{ members, want string }{
		{`"version": 0`, `version: is 0, this filter reads 1; write "version": 1`},
		{`"on_no_state": "guess"`, `on_no_state: "guess" is not a choice; use reject or host`},
		{`"endpoint_mode": "dns"`, `endpoint_mode: "dns" is not a choice; use override_host or original_dst`},
		{`"receipts": "all"`, `receipts: "all" is not a choice; use off or log`},
		{`"on_no_state": "host", "endpoint_mode": "original_dst"`, `on_no_state: "host" needs a host that can choose by itself; use "endpoint_mode": "override_host" or "on_no_state": "reject"`},
		{`"on_no_state": "host", "workers": [{"address": "10.0.0.1:80", "models": ["m"]}]`, `on_no_state: "host" has no effect: the workers are the fleet while no other is known; leave it out or leave "workers" out`},
		{`"proxy": "` + strings.Repeat("x", 257) + `"`, `proxy: is 257 bytes long; use 256 at most`},
		{`"paths": []`, `paths: an empty list routes nothing; leave it out for the default paths`},
		{`"paths": ["/v1/rerank"]`, `paths[0]: "/v1/rerank" is not a path this filter can read; use /v1/chat/completions, /v1/completions, /generate, /v1/responses, /v1/messages or /v1/embeddings`},
		{`"paths": ["/v1/completions", "/v1/completions"]`, `paths[1]: "/v1/completions" stands twice; keep one`},
		{`"max_body_bytes": 0`, `max_body_bytes: 0 is out of range; use 1 to 33554432`},
		{`"body_timeout_ms": 0`, `body_timeout_ms: 0 is out of range; use 1 to 86400000`},
		{`"breaker": {"threshold": 0}`, `breaker.threshold: 0 is out of range; use 1 to 1048576`},
		{`"breaker": {"cool_down_ms": 0}`, `breaker.cool_down_ms: 0 is out of range; use 1 to 86400000`},
		{`"state": {}`, `state.cluster: is required; name the host's cluster for the state service`},
		{`"state": {"cluster": "s", "authority": "a b"}`, `state.authority: has white space in it; write host or host:port`},
		{`"state": {"cluster": "s", "token_env": "A=b"}`, `state.token_env: is not the name of an environment variable; write the variable's name, not the token`},
		{`"state": {"cluster": "s", "sync_interval_ms": 5}`, `state.sync_interval_ms: 5 is out of range; use 20 to 10000`},
		{`"state": {"cluster": "s", "timeout_ms": 0}`, `state.timeout_ms: 0 is out of range; use 1 to 60000`},
	} {
		t.Run(tt.members, func(t *testing.T) {
			members := []string{tt.members, `"models": {"m": {"buckets": [{"id": "b", "groups": {"plain": {"policy": {"type": "random"}}}}]}}`}
			if !strings.HasPrefix(tt.members, `"version"`) {
				members = append(members, `"version": 1`)
			}
			if !strings.HasPrefix(tt.members, `"state"`) {
				members = append(members, `"state": {"cluster": "s"}`)
			}
			require.Equal(t, []string{tt.want}, problemsOf(t, "{"+strings.Join(members, ",")+"}"))
		})
	}
	require.Equal(t, []string{
		`state: is not set and there are no workers: nothing to route to; set "state" or "workers"`,
		`models: no model is routed; name at least one model`,
	}, problemsOf(t, `{"version": 1}`))
}

func TestValidate_workers(t *testing.T) {
	const good = `{"id": "a", "address": "10.0.0.1:80", "models": ["m"]}`
	for _, tt := range []struct{ workers, want string }{
		{good + `, {"id": "b", "address": "engine:80", "models": ["m"]}`, `workers[1].address: "engine:80" is not a literal ip:port; write it like "10.0.0.7:8000"`},
		{good + `, {"id": "b", "models": ["m"]}`, `workers[1].address: "" is not a literal ip:port; write it like "10.0.0.7:8000"`},
		{good + `, {"id": "b", "address": "10.0.0.1:80", "models": ["m"]}`, `workers[1].address: 10.0.0.1:80 is the address of workers[0] too; list each engine once`},
		{good + `, {"id": "a", "address": "10.0.0.2:80", "models": ["m"]}`, `workers[1].id: "a" stands twice; give each worker its own id`},
		{good + `, {"id": "10.0.0.3:80", "address": "10.0.0.2:80", "models": ["m"]}, {"address": "10.0.0.3:80", "models": ["m"]}`, `workers[2].id: "10.0.0.3:80" stands twice; give each worker its own id`},
		{good + `, {"id": "b", "address": "10.0.0.2:80"}`, `workers[1].models: is required; list the model names the engine serves`},
		{good + `, {"id": "b", "address": "10.0.0.2:80", "models": ["m", ""]}`, `workers[1].models[1]: is empty; leave it out`},
		{good + `, {"id": "b", "address": "10.0.0.2:80", "models": ["m", "m"]}`, `workers[1].models[1]: "m" stands twice; keep one`},
		{good + `, {"id": "b", "address": "10.0.0.2:80", "models": ["n"], "role": "both"}`, `workers[1].role: "both" is not a role; use plain, prefill or decode`},
		{good + `, {"id": "b", "address": "10.0.0.2:80", "models": ["n", "m"], "role": "decode"}`, `workers[1].role: model "m" would be served by plain and by prefill/decode engines; use one kind per model`},
		{`{"id": "a", "address": "10.0.0.1:80", "models": ["n"]}`, `models.m: no worker serves this model, and there is no state service to name one; add it to the models of a worker`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			doc := `{"version": 1, "workers": [` + tt.workers + `], "models": {"m": {"buckets": [{"id": "b", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
			require.Equal(t, []string{tt.want}, problemsOf(t, doc))
		})
	}
}

func TestValidate_models(t *testing.T) {
	const bucket = `{"id": "b", "groups": {"plain": {"policy": {"type": "random"}}}}`
	for _, tt := range []struct{ models, want string }{
		{`" ": {"buckets": [` + bucket + `]}`, `models[" "]: a model needs a name; write the name clients ask for`},
		{`"m": {}`, `models.m.buckets: no bucket; list at least one`},
		{`"m": {"tokens": "ambiguous", "buckets": [` + bucket + `]}`, `models.m.tokens: "ambiguous" has no effect: no bucket has a bound on lengths; give a bucket limits or max_context_tokens, or leave it out`},
		{`"m": {"tokens": "guess", "buckets": [` + bucket + `]}`, `models.m.tokens: "guess" is not a choice; use "exact", "ambiguous" or "estimate"`},
		{`"m": {"aliases": ["n"], "buckets": [` + bucket + `]}, "n": {"buckets": [` + bucket + `]}`, `models.m.aliases[0]: "n" already names model "n"; give the alias to one model`},
		{`"m": {"aliases": ["x"], "buckets": [` + bucket + `]}, "n": {"aliases": ["x"], "buckets": [` + bucket + `]}`, `models.n.aliases[0]: "x" already names model "m"; give the alias to one model`},
		{`"m": {"aliases": [""], "buckets": [` + bucket + `]}`, `models.m.aliases[0]: is empty; leave it out`},
		{`"m": {"buckets": [` + bucket + `, ` + bucket + `]}`, `models.m.buckets[1].id: "b" stands twice; give each bucket its own id`},
		{`"m": {"buckets": [` + strings.Replace(bucket, `"b"`, `" "`, 1) + `]}`, `models.m.buckets[0].id: is required; name the bucket`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			require.Equal(t, []string{tt.want}, problemsOf(t, `{"version": 1, "state": {"cluster": "s"}, "models": {`+tt.models+`}}`))
		})
	}
}

func TestValidate_buckets(t *testing.T) {
	const plain = `"groups": {"plain": {"policy": {"type": "random"}}}`
	for _, tt := range []struct {
		bucket string
		want   []string
	}{
		{`"limits": {"min": 9, "max": 8}, ` + plain, []string{`limits: min 9 is above max 8; swap or widen them`}},
		{`"limits": {"min": 9}, "max_context_tokens": 8, ` + plain, []string{`limits.min: 9 is above max_context_tokens 8: no request fits; lower it or raise max_context_tokens`}},
		{`"limits": {"max": 0}, ` + plain, []string{`limits.max: 0 fits no request; leave it out for no bound`}},
		{`"max_context_tokens": 0, ` + plain, []string{`max_context_tokens: 0 fits no request; leave it out for no bound`}},
		{`"rank": 1`, []string{`groups: has neither plain nor pd; write "plain": {"policy": ...}`}},
		{`"groups": {"plain": {"policy": {"type": "random"}}, "pd": {"prefill": {"policy": {"type": "random"}}, "decode": {"policy": {"type": "random"}}}}`, []string{
			`groups: has both plain and pd; a bucket is one or the other: make two buckets`,
			`groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`,
		}},
		{`"groups": {"pd": {"prefill": {"policy": {"type": "random"}}, "decode": {"policy": {"type": "random"}}}}`, []string{
			`groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`,
		}},
		{`"groups": {"pd": {"prefill": {"policy": {"type": "random"}}}}`, []string{
			`groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`,
			`groups.pd.decode: is required; a pd bucket needs both prefill and decode`,
		}},
		{`"groups": {"pd": {"decode": {"policy": {"type": "legacy_host_affinity"}}}}`, []string{
			`groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`,
			`groups.pd.prefill: is required; a pd bucket needs both prefill and decode`,
			`groups.pd.decode.policy.type: "legacy_host_affinity" is dropped; use power_of_two on decode groups`,
		}},
		{`"groups": {"plain": {}}`, []string{`groups.plain.policy: is required; write "policy": {"type": "power_of_two"}, here or for all groups in the model`}},
	} {
		t.Run(tt.bucket, func(t *testing.T) {
			for i := range tt.want {
				tt.want[i] = "models.m.buckets[0]." + tt.want[i]
			}
			doc := `{"version": 1, "state": {"cluster": "s"}, "models": {"m": {"buckets": [{"id": "b", ` + tt.bucket + `}]}}}`
			require.Equal(t, tt.want, problemsOf(t, doc))
		})
	}
}

func TestValidate_groups_and_policies(t *testing.T) {
	const random = `"policy": {"type": "random"}`
	for _, tt := range []struct{ group, want string }{
		{`"worker_ids": ["a", "c"], ` + random, `.worker_ids[1]: "c" is not among workers; add the worker or correct the id`},
		{`"worker_ids": ["a", "a"], ` + random, `.worker_ids[1]: "a" stands twice; keep one`},
		{`"worker_ids": ["a", " "], ` + random, `.worker_ids[1]: is empty; leave it out`},
		{`"worker_ids": ["d"], ` + random, `.worker_ids[0]: worker "d" is decode, the group is plain; name workers of the group's role`},
		{`"worker_ids": ["n"], ` + random, `.worker_ids[0]: worker "n" does not serve model "m"; name workers that serve it`},
		{`"policy": {}`, `.policy.type: is required; use round_robin, random, power_of_two, load_based, consistent_hash, session_aware, sticky or cache_aware`},
		{`"policy": {"type": "randon"}`, `.policy.type: "randon" is not a policy; did you mean "random"?`},
		{`"policy": {"type": "magic"}`, `.policy.type: "magic" is not a policy; use round_robin, random, power_of_two, load_based, consistent_hash, session_aware, sticky or cache_aware`},
		{`"policy": {"type": "fused_score"}`, `.policy.type: "fused_score" is dropped: policies do not add up scores; use power_of_two`},
		{`"policy": {"type": "score_policy"}`, `.policy.type: "score_policy" is dropped: policies do not add up scores; use power_of_two`},
		{`"policy": {"type": "legacy_host_affinity"}`, `.policy.type: "legacy_host_affinity" is dropped; use power_of_two on decode groups`},
		{`"policy": {"type": "power_of_n"}`, `.policy.type: "power_of_n" is spelled power_of_two here; use "type": "power_of_two" with "choices"`},
		{`"policy": {"type": "cache_aware"}`, `.policy.source: "local" is looked up in the state service, and there is no "state"; write "state": {"cluster": ...}, or "source": "history", which needs none`},
		{`"policy": {"type": "random", "choices": 2}`, `.policy.choices: has no effect on random; leave it out or use power_of_two`},
		{`"policy": {"type": "power_of_two", "choices": 0}`, `.policy.choices: 0 is out of range; use 1 to 65536`},
		{`"policy": {"type": "random", "admission": {"max_inflight_requests": 0}}`, `.policy.admission.max_inflight_requests: 0 admits nothing; use at least 1 or leave it out`},
	} {
		t.Run(tt.group, func(t *testing.T) {
			doc := `{"version": 1, "workers": [
				{"id": "a", "address": "10.0.0.1:80", "models": ["m"]}, {"id": "n", "address": "10.0.0.2:80", "models": ["n"]},
				{"id": "d", "address": "10.0.0.3:80", "models": ["x"], "role": "decode"}
			], "models": {"m": {"buckets": [{"id": "b", "groups": {"plain": {` + tt.group + `}}}]}}}`
			lines := problemsOf(t, doc)
			if tt.group == `"worker_ids": ["d"], `+random {
				lines = lines[:1] // it does not serve the model either
			}
			require.Equal(t, []string{"models.m.buckets[0].groups.plain" + tt.want}, lines)
		})
	}
}

// Members that only the state service knows cannot be checked at the start.
func TestValidate_takes_members_of_a_fleet_to_come(t *testing.T) {
	_, err := Decode([]byte(document(`{"policy"`, `{"worker_ids": ["later"], "policy"`)))
	require.NoError(t, err)
}

// A model name is not a part of a path's syntax.
func TestValidate_paths_of_odd_names(t *testing.T) {
	for name, want := range map[string]string{
		"Qwen/Qwen3-8B": `models.Qwen/Qwen3-8B.buckets`, "a.b": `models["a.b"].buckets`, "a[0]": `models["a[0]"].buckets`,
		"a: b": `models["a: b"].buckets`, "line\nbreak": `models["line\nbreak"].buckets`, `"`: `models["\""].buckets`, "ä": `models["ä"].buckets`,
	} {
		doc := fmt.Sprintf(`{"version": 1, "state": {"cluster": "s"}, "models": {%s: {"buckets": [
			{"id": "b", "groups": {"plain": {"policy": {"type": "random", "admission": {"max_kv_tokens": 0}}}}}]}}}`, mustMarshal(t, name))
		require.Equal(t, []string{want + `[0].groups.plain.policy.admission.max_kv_tokens: 0 admits nothing; use at least 1 or leave it out`}, problemsOf(t, doc))
	}
	require.Len(t, problemsOf(t, `{"version": 1, "state": {"cluster": "s"}, "models": {"a": {"buckets": 1}, "a.b": {"buckets": []}}}`), 2)
}

func TestProblems_counts_first(t *testing.T) {
	var ps Problems
	require.NoError(t, ps.err())
	ps.add("", "is bad", "")
	require.EqualError(t, ps.err(), "1 problem in the filter configuration\n  is bad")
	ps.add("a.b", "is worse", "mend it")
	require.EqualError(t, ps.err(), "2 problems in the filter configuration\n  is bad\n  a.b: is worse; mend it")
}
