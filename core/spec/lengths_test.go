package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Prompts are counted where their length decides something and somebody may know
// it (design section 1).
func TestBuild_lengths(t *testing.T) {
	const state, static = `"state": {"cluster": "s"}`, `"workers": [{"id": "a", "address": "10.0.0.1:80", "models": ["m"]}]`
	for _, tt := range []struct {
		top, tokens, bounds string
		want                Lengths
	}{
		{state, ``, `"limits": {"max": 9}, `, LengthsExact},
		{state, ``, `"limits": {"min": 9}, `, LengthsExact},
		{state, ``, `"max_context_tokens": 9, `, LengthsExact},
		{state, ``, `"limits": {}, `, LengthsEstimated},
		{state, ``, ``, LengthsEstimated},
		{state, `"tokens": "exact", `, `"limits": {"max": 9}, `, LengthsExact},
		{state, `"tokens": "ambiguous", `, `"limits": {"max": 9}, `, LengthsAmbiguous},
		{state, `"tokens": "estimate", `, `"limits": {"max": 9}, `, LengthsEstimated},
		{state, `"tokens": "estimate", `, ``, LengthsEstimated},
		{static, ``, `"limits": {"max": 9}, `, LengthsEstimated},
		{static, `"tokens": "estimate", `, `"limits": {"max": 9}, `, LengthsEstimated},
	} {
		doc := `{"version": 1, ` + tt.top + `, "models": {"m": {` + tt.tokens + `"buckets": [{"id": "b", ` + tt.bounds + `"groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
		require.Equal(t, tt.want, build(t, doc, Handles{}).ModelNeeds("m").Lengths, doc)
	}
}

func TestValidate_tokens_without_a_state_service(t *testing.T) {
	for _, choice := range []string{"exact", "ambiguous"} {
		require.Equal(t, []string{`models.m.tokens: "` + choice + `" needs a state service, which counts the tokens; add "state", or use "estimate"`},
			problemsOf(t, `{"version": 1, "workers": [{"id": "a", "address": "10.0.0.1:80", "models": ["m"]}], "models": {"m": {"tokens": "`+choice+
				`", "buckets": [{"id": "b", "limits": {"max": 9}, "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`))
	}
}
