package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Whatever needs a body is refused with both ways out; what headers can decide is not.
func TestHeaderOnly(t *testing.T) {
	const state = `"state": {"cluster": "s"},`
	const workers = `"workers": [{"address": "10.0.0.7:8000", "models": ["m"]}],`
	bucket := func(policy, further string) string {
		return fmt.Sprintf(`"buckets": [{"id": "all", %s "groups": {"plain": {"policy": %s}}}]`, further, policy)
	}
	random := `{"type": "random"}`
	limits := `"limits": {"max": 9},`
	for _, tc := range []struct {
		name, top, model string
		paths            []string
	}{
		{"load", workers, bucket(`{"type": "power_of_two"}`, ""), nil},
		{"sessions", state, bucket(`{"type": "session_aware"}`, ""), nil},
		{"lengths by content-length", state, `"tokens": "estimate",` + bucket(random, limits), nil},
		{"lengths that nobody counts", workers, bucket(random, limits), nil},
		{"counted lengths", state, bucket(random, limits), []string{"models.m.tokens"}},
		{"ambiguous lengths", state, `"tokens": "ambiguous",` + bucket(random, limits), []string{"models.m.tokens"}},
		{"output", workers, bucket(random, `"max_context_tokens": 9,`), []string{"models.m.buckets[0].max_context_tokens"}},
		{"cache", state, bucket(`{"type": "cache_aware"}`, ""), []string{"models.m.buckets[0].groups.plain.policy"}},
		{"cache by history", state, bucket(`{"type": "cache_aware", "source": "history"}`, ""), []string{"models.m.buckets[0].groups.plain.policy"}},
		{"cache of the model", state, `"policy": {"type": "cache_aware"}, "buckets": [{"id": "all", "groups": {"plain": {}}}]`, []string{"models.m.policy"}},
		{"prefix", workers, bucket(`{"type": "consistent_hash", "key": "prefix"}`, ""), []string{"models.m.buckets[0].groups.plain.policy.key"}},
		{"hash of a header", workers, bucket(`{"type": "consistent_hash", "key": "session"}`, ""), nil},
		{"sampling", workers, `"sampling": {"override": {"n": 1}},` + bucket(random, ""), []string{"models.m.sampling"}},
		{"keys in bodies", workers + `"session": {"body_fields": ["user"]},`, bucket(`{"type": "consistent_hash", "key": "session"}`, ""), []string{"session.body_fields"}},
		{"token ids", state, `"input_ids": {},` + bucket(random, ""), []string{"models.m.input_ids"}},
		{"aborts", state + `"abort": {"cluster": "e"},`, bucket(random, ""), []string{"abort"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := spec.Decode([]byte(`{"version": 1,` + tc.top + `"models": {"m": {` + tc.model + `}}}`))
			require.NoError(t, err)
			var paths []string
			for _, r := range render.HeaderOnly(cfg, "no --header-only") {
				paths = append(paths, r.Path)
				require.Regexp(t, `^no --header-only, or .`, r.Instead)
				require.NotEmpty(t, r.Reason)
			}
			require.Equal(t, tc.paths, paths)
		})
	}
}
