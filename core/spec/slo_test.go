package spec

import (
	"testing"

	"github.com/pointsman/pointsman/core/bucket"
	"github.com/stretchr/testify/require"
)

// sloModel is a configuration of one model with the members, and one bucket with
// further members.
func sloModel(model, members string) string {
	return `{"version": 1, "state": {"cluster": "s"}, "models": {"m": {` + model + `"buckets": [{"id": "b", ` + members + `"groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
}

func TestValidate_slo(t *testing.T) {
	const first = `"ttft_slo": "slo_first", `
	for _, tt := range []struct{ model, bucket, want string }{
		{`"ttft_slo": "first", `, `"ttft_ms": 5, `, `.ttft_slo: "first" is not a choice; use disabled, slo_first or best_effort`},
		{`"tps_slo": "SLO_FIRST", `, `"tokens_per_second": 5, `, `.tps_slo: "SLO_FIRST" is not a choice; use disabled, slo_first or best_effort`},
		{first, ``, `.ttft_slo: has no effect: no bucket has ttft_ms; give at least one bucket the estimate, or leave it out`},
		{`"tps_slo": "best_effort", `, ``, `.tps_slo: has no effect: no bucket has tokens_per_second; give at least one bucket the estimate, or leave it out`},
		{``, `"ttft_ms": 5, `, `.buckets[0].ttft_ms: has no effect without ttft_slo; write "ttft_slo": "slo_first" or "best_effort" in the model, or leave it out`},
		{first + `"tps_slo": "disabled", `, `"ttft_ms": 0, "tokens_per_second": 1, `, `.buckets[0].ttft_ms: 0 is out of range; use 1 to 86400000`},
		{`"tps_slo": "slo_first", `, `"tokens_per_second": 0, `, `.buckets[0].tokens_per_second: 0 is out of range; use a number above 0`},
		{`"tps_slo": "slo_first", `, `"tokens_per_second": -1.5, `, `.buckets[0].tokens_per_second: -1.5 is out of range; use a number above 0`},
		{`"tps_slo": "slo_first", `, `"tokens_per_second": 1e999, `, `.buckets[0].tokens_per_second: must be a number, is 1e999`},
		{`"ttft_slo": 7, `, `"ttft_ms": 5, `, `.ttft_slo: must be a string, is 7`},
		{first, `"ttft_ms": -5, `, `.buckets[0].ttft_ms: must be a whole number, zero or more, is -5`},
		{first, `"ttft_ms": 5, "ttft_slo": "slo_first", `, `.buckets[0].ttft_slo: belongs to a model; write it into "models": {"<name>": {...}}`},
		{first + `"ttft_ms": 5, `, `"ttft_ms": 5, `, `.ttft_ms: belongs to a bucket; write it into "buckets": [{...}]`},
		{`"session": {}, `, ``, `.session: belongs to the top level; write it beside "models"`},
	} {
		require.Equal(t, []string{"models.m" + tt.want}, problemsOf(t, sloModel(tt.model, tt.bucket)))
	}
}

// Preferences reach the resolver; headers are needed only where one is enabled.
func TestBuild_slo(t *testing.T) {
	for _, tt := range []struct {
		model, bucket string
		prefer        bucket.Preferences
		needs         Needs
	}{
		{``, ``, bucket.Preferences{}, Needs{}},
		{`"ttft_slo": "disabled", `, `"ttft_ms": 5, `, bucket.Preferences{}, Needs{}},
		{`"ttft_slo": "slo_first", `, `"ttft_ms": 5, `, bucket.Preferences{TTFT: bucket.PreferenceSLOFirst}, Needs{TTFT: "x-sgl-ttft-slo-ms"}},
		{`"tps_slo": "best_effort", `, `"tokens_per_second": 2.5, `, bucket.Preferences{TPS: bucket.PreferenceBestEffort}, Needs{TPS: "x-sgl-tps-slo"}},
	} {
		r := build(t, sloModel(tt.model, tt.bucket), Handles{})
		require.Equal(t, tt.prefer, r.directory.find("m").model.resolver.Preferences())
		require.Equal(t, tt.needs, r.Needs())
	}
	_, err := Build(&Config{Models: map[string]Model{"m": {TPSSLO: "fast"}}}, Handles{Load: noLoad{}})
	require.EqualError(t, err, `models.m: preferences "" and "fast" are not both known`)
	r := build(t, sloModel(`"ttft_slo": "slo_first", "tps_slo": "slo_first", `, `"ttft_ms": 5, "tokens_per_second": 2.5, `), Handles{})
	s := r.directory.find("m").model.resolver.Buckets()[0].Spec()
	require.Equal(t, uint64(5), *s.TTFTMillis)
	require.InDelta(t, 2.5, *s.TokensPerSecond, 0)
}
