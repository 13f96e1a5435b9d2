package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireValid demands a configuration without problems.
func requireValid(t *testing.T, cfg *Config) {
	t.Helper()
	require.Empty(t, validate(cfg, readable{fleet: true, models: true}, fed()))
}

// document is a valid configuration with one piece of it replaced.
func document(old, replacement string) string {
	const good = `{
  "version": 1,
  "state": {"cluster": "s"},
  "models": {"m": {"buckets": [
    {"id": "b", "limits": {"min": 1, "max": 8}, "max_context_tokens": 16, "groups": {"plain": {"policy": {"type": "random"}}}}
  ]}}
}`
	return strings.Replace(good, old, replacement, 1)
}

func problemsOf(t *testing.T, doc string) []string {
	t.Helper()
	cfg, err := Decode([]byte(doc))
	require.Nil(t, cfg)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

func TestDecode_good(t *testing.T) {
	cfg, err := Decode([]byte(document("", "")))
	require.NoError(t, err)
	require.Equal(t, "s", cfg.State.Cluster)
	require.Equal(t, uint64(8), *cfg.Models["m"].Buckets[0].Limits.Max)
	requireValid(t, Defaults(cfg))
}

func TestDecode_is_strict(t *testing.T) {
	for _, tt := range []struct{ name, old, replacement, want string }{
		{"empty", document("", ""), " \n", `the document is empty`},
		{"not JSON", `"version": 1,`, `"version" 1,`, `not valid JSON at line 2, column 13: invalid character '1' after object key`},
		{"cut", document("", ""), `{"version": 1`, `not valid JSON: the document ends too early`},
		{"text", document("", ""), `filter`, `not valid JSON at line 1, column 2: invalid character 'i' in literal false (expecting 'a')`},
		{"trailing object", document("", ""), document("", "") + "{}", `more follows the first JSON value; write one object`},
		{"trailing text", document("", ""), document("", "") + "x", `more follows the first JSON value; write one object`},
		{"list", document("", ""), `[]`, `must be an object, is []`},
		{"null document", document("", ""), `null`, `null is not a value here; leave the key out`},
		{"typo at the top", `"version"`, `"versions"`, `versions: unknown key; did you mean "version"?`},
		{"typo below", `"limits"`, `"limit"`, `models.m.buckets[0].limit: unknown key; did you mean "limits"?`},
		{"typo in a policy", `"type"`, `"tpye"`, `models.m.buckets[0].groups.plain.policy.tpye: unknown key; did you mean "type"?`},
		{"another case", `"cluster"`, `"Cluster"`, `state.Cluster: unknown key; did you mean "cluster"?`},
		{"nothing near", `"cluster": "s"`, `"cluster": "s", "zzz": 1`, `state.zzz: unknown key; known keys: cluster, authority, token_env, sync_interval_ms, timeout_ms, observe_timeout_ms, bind_timeout_ms, call_stream, pending_prefix_ms`},
		{"short and not near", `"id": "b"`, `"id": "b", "x": 1`, `models.m.buckets[0].x: unknown key; known keys: id, rank, limits, max_context_tokens, ttft_ms, tokens_per_second, groups`},
		{"key twice", `"max": 8`, `"max": 8, "max": 9`, `models.m.buckets[0].limits.max: stands twice; keep one`},
		{"key twice, escaped", `"max": 8`, `"max": 8, "m\u0061x": 9`, `models.m.buckets[0].limits.max: stands twice; keep one`},
		{"model twice", `"m": {`, `"m": {"buckets": []}, "m": {`, `models.m: stands twice; keep one`},
		{"null", `"max": 8`, `"max": null`, `models.m.buckets[0].limits.max: null is not a value here; leave the key out`},
		{"null policy", `{"type": "random"}`, `null`, `models.m.buckets[0].groups.plain.policy: null is not a value here; leave the key out`},
		{"text for a number", `"max": 8`, `"max": "8"`, `models.m.buckets[0].limits.max: must be a whole number, zero or more, is "8"`},
		{"fraction", `"max": 8`, `"max": 8.5`, `models.m.buckets[0].limits.max: must be a whole number, zero or more, is 8.5`},
		{"negative", `"max": 8`, `"max": -8`, `models.m.buckets[0].limits.max: must be a whole number, zero or more, is -8`},
		{"too large", `"max": 8`, `"max": 18446744073709551616`, `models.m.buckets[0].limits.max: must be a whole number, zero or more, is 18446744073709551616`},
		{"rank too large", `"id": "b"`, `"id": "b", "rank": 4294967296`, `models.m.buckets[0].rank: must be a whole number from 0 to 4294967295, is 4294967296`},
		{"number for text", `"id": "b"`, `"id": 7`, `models.m.buckets[0].id: must be a string, is 7`},
		{"list for an object", `{"cluster": "s"}`, `["s"]`, `state: must be an object, is ["s"]`},
		{"object for a list", `"version": 1`, `"version": 1, "paths": {}`, `paths: must be a list, is {}`},
		{"text in a list", `"version": 1`, `"version": 1, "paths": ["/v1/completions", 3]`, `paths[1]: must be a string, is 3`},
		{"model is no object", `"m": {`, `"n": 5, "m": {`, `models.n: must be an object, is 5`},
		{"long value", `"id": "b"`, `"id": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]`, `models.m.buckets[0].id: must be a string, is [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,...`},
		{"a name with dots", `"m": {`, `"Qwen/Qwen2.5": {"bucket": []}, "m": {`, `models["Qwen/Qwen2.5"].bucket: unknown key; did you mean "buckets"?`},
		{"an empty name", `"m": {`, `"": 1, "m": {`, `models[""]: must be an object, is 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := document(tt.old, tt.replacement)
			require.NotEqual(t, document("", ""), doc)
			require.Equal(t, []string{tt.want}, problemsOf(t, doc))
		})
	}
}

// What POLICY_DESIGN section 7 drops is refused by name and with a replacement,
// wherever it is written, as are settings that other files spell otherwise.
func TestDecode_dropped_options(t *testing.T) {
	for key, want := range map[string]string{
		"stable_pair":            "is dropped: a policy gives one engine and no backup",
		"stable-pair":            "is dropped: a policy gives one engine and no backup",
		"--stable-pair":          "is dropped: a policy gives one engine and no backup",
		"affinity_mode":          "is dropped: a binding is reused whenever its engine is admitted",
		"prefix_cache_min_share": "is dropped: no policy filters by prefix share",
		"fuse":                   `use "policy": {"type": "power_of_two"}`,
		"fused_score":            `use "policy": {"type": "power_of_two"}`,
		"score_policy":           `use "policy": {"type": "power_of_two"}`,
		"filter":                 `"admission": {"max_inflight_requests": ...}`,
		"max_in_flight":          `"admission": {"max_inflight_requests": ...}`,
		"max_input_tokens":       `use "limits": {"max": ...}`,
		"power_of_n_choices":     `use "choices"`,
		"cb_cool_down_secs":      `"cool_down_ms"`,
		"kv_indexer":             "is not in this version",
	} {
		for place, doc := range map[string]string{
			"":                     document(`"version": 1`, `"version": 1, `+string(mustMarshal(t, key))+`: "soft"`),
			"models.m.buckets[0].": document(`"id": "b"`, `"id": "b", `+string(mustMarshal(t, key))+`: {}`),
			"models.m.buckets[0].groups.plain.policy.": document(`"type": "random"`, `"type": "random", `+string(mustMarshal(t, key))+`: [1]`),
		} {
			lines := problemsOf(t, doc)
			require.Len(t, lines, 1, "%s%s", place, key)
			require.True(t, strings.HasPrefix(lines[0], place+key+": "), lines[0])
			require.Contains(t, lines[0], want)
			require.NotContains(t, lines[0], "unknown key")
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func TestDecode_lists_everything_at_once(t *testing.T) {
	_, err := Decode([]byte(`{
  "version": 2,
  "verbose": true,
  "endpoint_mode": "magic",
  "max_body_bytes": 33554433,
  "stat": {},
  "models": {
    "m": {
      "buckets": [
        {"id": "b", "id": "c", "limits": {"min": 9, "max": "8"}, "groups": {"plian": {}}},
        {"id": "b", "max_context_tokens": 0, "groups": {"plain": {"policy": {"type": "fused_score", "admission": {"max_kv_tokens": 0, "max_running_request": 1}}}}}
      ]
    },
    "n": {"tokens": "precise", "buckets": []}
  }
}`))
	require.EqualError(t, err, `15 problems in the filter configuration
  verbose: unknown key; known keys: version, proxy, state, on_no_state, endpoint_mode, endpoint_header, subset, slo_headers, priority, transport_retry, worker_header, abort, paths, generate_model, max_body_bytes, body_timeout_ms, breaker, receipts, seed, session, routing_key, workers, models
  stat: unknown key; did you mean "state"?
  models.m.buckets[0].id: stands twice; keep one
  models.m.buckets[0].limits.max: must be a whole number, zero or more, is "8"
  models.m.buckets[0].groups.plian: unknown key; did you mean "plain"?
  models.m.buckets[1].groups.plain.policy.admission.max_running_request: unknown key; did you mean "max_running_requests"?
  version: is 2, this filter reads 1; write "version": 1
  endpoint_mode: "magic" is not a choice; use override_host or original_dst
  max_body_bytes: 33554433 is out of range; use 1 to 33554432
  models.m.buckets[1].id: "b" stands twice; give each bucket its own id
  models.m.buckets[1].max_context_tokens: 0 fits no request; leave it out for no bound
  models.m.buckets[1].groups.plain.policy.type: "fused_score" is dropped: policies do not add up scores; use power_of_two
  models.m.buckets[1].groups.plain.policy.admission.max_kv_tokens: 0 admits nothing; use at least 1 or leave it out
  models.n.tokens: "precise" is not a choice; use "exact", "ambiguous" or "estimate"
  models.n.buckets: no bucket; list at least one`)
}

// A finding that follows from a misspelt or unreadable value is not listed beside it.
func TestDecode_leaves_out_what_follows(t *testing.T) {
	for name, doc := range map[string]string{
		"misspelt state":   document(`"state"`, `"stat"`),
		"misspelt models":  document(`"models"`, `"modles"`),
		"misspelt buckets": document(`"buckets"`, `"bucketes"`),
		"misspelt groups":  document(`"groups"`, `"group"`),
		"misspelt plain":   document(`"plain"`, `"plan"`),
		"misspelt workers": `{"version":1,"wokers":[{"address":"10.0.0.1:80","models":["m"]}],"models":{"m":{"buckets":[{"id":"b","groups":{"plain":{"worker_ids":["w"],"policy":{"type":"random"}}}}]}}}`,
		"worker of another type": `{"version":1,"workers":[{"address":"10.0.0.1:80","models":["m"]},{"id":7,"address":"10.0.0.2:80","models":["m"]}],
			"models":{"m":{"buckets":[{"id":"b","groups":{"plain":{"worker_ids":["7"],"policy":{"type":"random"}}}}]}}}`,
	} {
		t.Run(name, func(t *testing.T) { require.Len(t, problemsOf(t, doc), 1) })
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(document("", "")))
	f.Add([]byte(document(`"version": 1`, `"version": 1, "workers": [{"address": "[::1]:80", "models": ["m"]}]`)))
	for _, s := range []string{``, `{`, `null`, `{"version":1}`, `{"models":{"a.b":{"buckets":[{}]}}}`, `{"a":1,"a":2}`, "{\"\xff\":1}", `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		cfg, err := Decode(doc)
		if err != nil {
			require.Nil(t, cfg)
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.NotEmpty(t, problems)
			return
		}
		requireValid(t, Defaults(cfg))
		_, err = Build(Defaults(cfg), Handles{Load: noLoad{}})
		require.NoError(t, err, "what is valid can be built")
	})
}
