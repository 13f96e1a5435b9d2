package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/policy"
)

func TestBoundKey(t *testing.T) {
	for value, want := range map[string]string{
		"":                         "",
		"session-42":               "session-42",
		" a\tb ~":                  " a\tb ~",
		"caf\u00e9":                "",
		"\xff":                     "",
		"a\nb":                     "",
		"a\x7f":                    "",
		strings.Repeat("k", 256):   strings.Repeat("k", 256),
		strings.Repeat("é", 1<<19): "",
	} {
		require.Equal(t, want, policy.BoundKey(value))
	}
}

// H12: a key of a megabyte is a short one afterwards, and still its own.
func TestH12_long_keys_are_hashed(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []int{257, 258, 64 << 10, 1 << 20} {
		key := policy.BoundKey(strings.Repeat("k", n))
		require.LessOrEqual(t, len(key), 64)
		require.Equal(t, key, policy.BoundKey(strings.Repeat("k", n)))
		require.False(t, seen[key])
		seen[key] = true
	}
	long := strings.Repeat("k", 300)
	require.NotEqual(t, policy.BoundKey(long+"a"), policy.BoundKey(long+"b"))
}

func TestParseKeySource(t *testing.T) {
	for name, want := range map[string]policy.KeySource{"session": policy.KeySession, "routing": policy.KeyRouting, "prefix": policy.KeyPrefix} {
		got, ok := policy.ParseKeySource(name)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := policy.ParseKeySource("Session")
	require.False(t, ok)
}
