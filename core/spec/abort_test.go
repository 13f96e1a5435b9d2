package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbort_settings(t *testing.T) {
	cfg := Defaults(everything(t, grouped(`"abort": {"cluster": "engines"}, `, ``)))
	require.Equal(t, uint64(DefaultAbort), *cfg.Abort.TimeoutMillis)
	cfg = everything(t, `{"version": 1, "abort": {"cluster": "engines"}, "workers": [
		{"address": "10.0.0.1:1", "models": ["m"], "engine": "sglang"}, {"address": "10.0.0.2:1", "models": ["m"]}],
		"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`)
	static := cfg.Static()
	require.True(t, static[0].Aborts)
	require.False(t, static[1].Aborts)
}

func TestAbort_is_refused(t *testing.T) {
	const worker = `{"version": 1, "workers": [{"address": "10.0.0.1:1", "models": ["m"]`
	const models = `"models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
	for _, tc := range []struct {
		doc  string
		want []string
	}{
		{grouped(`"abort": {}, `, ``), []string{`abort.cluster: is required; name the host's cluster of the engines`}},
		{grouped(`"abort": {"cluster": "e", "timeout_ms": 0}, `, ``), []string{`abort.timeout_ms: 0 is out of range; use 1 to 60000`}},
		{grouped(`"abort": {"cluster": "e"}, "paths": ["/v1/responses", "/v1/messages"], `, ``), []string{
			`abort: has no effect: in none of the paths a request can be given a rid; leave it out`,
		}},
		{worker + `}], "abort": {"cluster": "e"}, ` + models, []string{
			`abort: has no effect: no worker is known to end requests by rid, and there is no state service to find out; write "engine": "sglang" into the workers it is true of, or leave it out`,
		}},
		{worker + `, "engine": "sglang"}], ` + models, []string{`workers[0].engine: has no effect without "abort"; leave it out`}},
		{worker + `, "engine": "vllm"}], ` + models, []string{
			`workers[0].engine: "vllm" is not a choice; use "sglang", or leave it out for any other engine`,
		}},
		{grouped(`"engine": "sglang", `, ``), []string{
			`engine: belongs to a worker; write it into "workers": [{...}]; of others the state service finds it out`,
		}},
	} {
		require.Equal(t, tc.want, findings(t, tc.doc))
	}
}
