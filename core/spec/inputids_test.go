package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// told is a configuration with settings of what engines are told beside a request.
func told(top, model, policy string) string {
	return `{"version": 1, ` + top + `, "models": {"m": {` + model + `, "buckets": [{"id": "b", "groups": {"plain": {"policy": {"type": "` + policy + `"}}}}]}}}`
}

const (
	withState   = `"state": {"cluster": "s"}`
	withWorkers = `"workers": [{"id": "a", "address": "10.0.0.1:80", "models": ["m"]}]`
)

func TestBuild_input_ids(t *testing.T) {
	for model, want := range map[string]uint32{
		`"input_ids": {}`:                     DefaultInputIDs,
		`"input_ids": {"max_tokens": 1}`:      1,
		`"input_ids": {"max_tokens": 262144}`: MaxInputIDs,
		`"tokens": "estimate"`:                0,
	} {
		require.Equal(t, want, build(t, told(withState, model, "random"), Handles{}).ModelNeeds("m").InputIDs, model)
	}
}

func TestValidate_input_ids(t *testing.T) {
	const at = `models.m.input_ids`
	for _, tt := range []struct{ top, model, want string }{
		{withWorkers, `"input_ids": {}`, at + `: needs a state service, which knows the tokens; add "state", or leave it out`},
		{withState, `"input_ids": {"max_tokens": 0}`, at + `.max_tokens: 0 is out of range; use 1 to 262144`},
		{withState, `"input_ids": {"max_tokens": 262145}`, at + `.max_tokens: 262145 is out of range; use 1 to 262144`},
		{withState, `"input_ids": true`, at + `: must be an object, is true`},
		{
			withState + `, "paths": ["/v1/completions"]`, `"input_ids": {}`,
			at + `: has no effect: only chats are forwarded with ids, and their path is not routed; add "/v1/chat/completions" to paths, or leave it out`,
		},
		{withState + `, "input_ids": {}`, `"tokens": "estimate"`, `input_ids: belongs to a model; write it into "models": {"<name>": {...}}`},
	} {
		require.Equal(t, []string{tt.want}, problemsOf(t, told(tt.top, tt.model, "random")))
	}
}

func TestBuild_dp_ranks(t *testing.T) {
	router := build(t, told(withState, `"dp_ranks": "always"`, "random"), Handles{})
	require.True(t, router.ModelNeeds("m").AlwaysRanked)
	require.Equal(t, Needs{Session: DefaultSessionHeader, Routing: DefaultRoutingHeader}, router.Needs(), "it goes by keys")
	require.False(t, build(t, told(withState, `"tokens": "estimate"`, "random"), Handles{}).ModelNeeds("m").AlwaysRanked)
	for _, good := range []string{
		told(withState, `"dp_ranks": "prefix"`, "cache_aware"),
		told(withState+`, "session": {"header": "x-mine"}`, `"dp_ranks": "always"`, "random"),
	} {
		_, err := Decode([]byte(good))
		require.NoError(t, err)
	}
}

func TestValidate_dp_ranks(t *testing.T) {
	const at = `models.m.dp_ranks: `
	for _, tt := range []struct{ top, model, policy, want string }{
		{withState, `"dp_ranks": "never"`, "random", at + `"never" is not a choice; use "prefix" or "always"`},
		{withState, `"dp_ranks": "prefix"`, "random", at + `"prefix" has no effect: no policy goes by the prefixes that the state service knows; use cache_aware with the source "local", or leave it out`},
		{withWorkers, `"dp_ranks": "always"`, "random", at + `"always" needs a state service, which knows how many ranks an engine has; add "state", or leave it out`},
		{withState, `"dp_aware": true`, "random", `models.m.dp_aware: is spelled otherwise here; use "dp_ranks": "always" in a model`},
	} {
		require.Equal(t, []string{tt.want}, problemsOf(t, told(tt.top, tt.model, tt.policy)))
	}
}

// What is in force is said beside the policies.
func TestInForce_what_engines_are_told(t *testing.T) {
	cfg, err := Decode([]byte(told(withState, `"input_ids": {}, "dp_ranks": "always"`, "random")))
	require.NoError(t, err)
	lines := cfg.InForce()
	require.Equal(t, `model "m": input_ids.max_tokens=32768 dp_ranks=always; "b" plain random`, lines[len(lines)-1])
}
