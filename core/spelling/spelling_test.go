package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "abc", 3},
		{"policy", "policy", 0},
		{"polcy", "policy", 1},
		{"polciy", "policy", 2},
		{"kitten", "sitting", 3},
	} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
