package chattemplate_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
)

// TestSnippetsAreJinjas holds each construct against Jinja: what Jinja renders is
// rendered alike or refused, and what it refuses is refused. The refusals are listed,
// so that a construct does not turn into one unseen.
func TestSnippetsAreJinjas(t *testing.T) {
	data, err := os.ReadFile("testdata/snippets.json")
	require.NoError(t, err)
	var golden struct {
		Args     json.RawMessage
		Snippets []struct {
			Template string
			Rendered *string
			Error    string
		}
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	refused := map[string]bool{}
	for _, g := range golden.Snippets {
		value, err := chattemplate.FromJSON(gjson.ParseBytes(golden.Args))
		require.NoError(t, err)
		got := ""
		template, err := chattemplate.Compile(g.Template)
		if err == nil {
			got, err = template.Render(t.Context(), value.(*chattemplate.Dict), chattemplate.For(10_000))
		}
		switch {
		case g.Rendered == nil:
			require.Error(t, err, "%s: Jinja says %s", g.Template, g.Error)
		case err != nil:
			refused[g.Template] = true
			t.Logf("%q: %v", g.Template, err)
		default:
			require.Equal(t, *g.Rendered, got, g.Template)
		}
	}
	require.Equal(t, map[string]bool{
		"{{ s.split() }}": true,
		// Values as Python prints them.
		"{{ l }}":            true,
		"{{ d.items() }}":    true,
		"{{ d.a['items'] }}": true,
		"{{ l.append }}":     true,
		"{{ l[0] }}{{ l[-1] }}{{ l[9] }}{{ l[1:] }}": true,
		// The case of letters beyond ASCII, and numbers with an exponent.
		"{{ 'aB'|upper }}{{ 'aB'|lower }}{{ 'aB'.upper() }}{{ n|string }}{{ 'é'|upper }}": true,
		"{{ 1.50 }}{{ 100.0 }}{{ 1e3 if no }}":                                            true,
		"{{ ['É', 'e']|sort|join }}":                                                      true,
		// Orders of other things than text and numbers.
		"{{ [[2], [1]]|sort|length }}": true,
		"{% for k, v in {'b': 1, 'a': 2}|dictsort(by='value') %}{{ k }}{% endfor %}": true,
		// Whole numbers in other scripts, with underscores or beyond 64 bits.
		"{{ '1_000'|int }}":                true,
		"{{ '١٢'|int }}":                   true,
		"{{ '99999999999999999999'|int }}": true,
		"{{ '5'|int(base='x') }}":          true,
		// What map gives, printed, searched or gone through twice; members that are no plain
		// names, or that Python's own hide.
		"{{ words|map('upper') }}":                                 true,
		"{{ words|map }}":                                          true,
		"{{ 'X' in words|map('upper') }}":                          true,
		"{% set g = words|map('upper') %}{{ g|join }}{{ g|join }}": true,
		"{{ nested|map(attribute='count')|join }}":                 true,
		"{{ [[1, 2]]|map(attribute=0)|join }}":                     true,
		"{{ [{'a': {'b': 1}}]|map(attribute='a.b')|join }}":        true,
	}, refused)
}
