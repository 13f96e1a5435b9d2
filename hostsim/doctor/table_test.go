package doctor

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write RULES.md anew")

// RULES.md is what the rules say: go test ./hostsim/doctor -run TestRules -update.
func TestRules(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile("RULES.md", []byte(Table()), 0o644))
	}
	text, err := os.ReadFile("RULES.md")
	require.NoError(t, err)
	require.Equal(t, Table(), string(text), "write it anew with -update")
}

func TestRules_are_named_and_whole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, r.Name)
		require.False(t, seen[r.Name], r.Name)
		seen[r.Name] = true
		require.NotEmpty(t, r.Looks, r.Name)
		require.NotEmpty(t, r.Why, r.Name)
		require.NotEmpty(t, r.Fix, r.Name)
	}
}

func TestJudge(t *testing.T) {
	for version, want := range map[string]string{
		"1.31.0": "unsupported", "1.32": "unsupported", "1.33.2": "degraded", "1.34.14": "degraded", "1.35.0": "minimum",
		"1.36.4": "ok", "1.37.0": "ok", "1.38.2": "ok", "1.38.3": "avoid", "1.38.4": "ok", "1.39.3": "target", "v1.40.0": "target", "1.41.0": "untested", "2.0": "untested",
	} {
		v, err := ParseVersion(version)
		require.NoError(t, err)
		require.Equal(t, want, Judge(v).Verdict, version)
	}
	for _, bad := range []string{"", "1", "1.x", "1.2.3.4", "latest", "-1.2", "1.99999999"} {
		_, err := ParseVersion(bad)
		require.Error(t, err, bad)
	}
}
