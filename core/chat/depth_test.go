package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeek_nesting(t *testing.T) {
	nested := func(before string, n int, open, inner, shut string) string {
		return `{` + before + `"model":"m","x":` + strings.Repeat(open, n) + inner + strings.Repeat(shut, n) + `}`
	}
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"deepest arrays":           {nested("", maxDepth-1, "[", "", "]"), true},
		"deepest objects":          {nested("", maxDepth-1, `{"a":`, "1", "}"), true},
		"one too deep":             {nested("", maxDepth, "[", "", "]"), false},
		"one object too deep":      {nested("", maxDepth, `{"a":`, "1", "}"), false},
		"half a million":           {nested("", 500_000, "[", "", "]"), false},
		"never closed":             {`{"model":"m","x":` + strings.Repeat("[", 1_000_000) + "}", false},
		"wide":                     {nested("", 1, "[", strings.Repeat(`{"a":[]},`, 20_000)+"1", "]"), true},
		"brackets in a string":     {nested(`"p":"`+strings.Repeat("[", 2000)+`",`, 1, "[", "", "]"), true},
		"after an escaped quote":   {nested(`"p":"\"`+strings.Repeat("{", 2000)+`",`, 1, "[", "", "]"), true},
		"after an escaped escape":  {nested(`"p":"\\",`, maxDepth, "[", "", "]"), false},
		"after a closed string":    {nested(`"p":"a",`, maxDepth, "[", "", "]"), false},
		"larger than is validated": {nested(`"p":"`+strings.Repeat("a", validateUpTo)+`",`, 20_000, "[", "", "]"), true},
	} {
		t.Run(name, func(t *testing.T) {
			facts, err := Peek(tt.body, DialectChat)
			if tt.ok {
				require.NoError(t, err)
				require.Equal(t, "m", facts.Model)
				return
			}
			require.EqualError(t, err, "the request body nests deeper than 512 levels")
		})
	}
}
