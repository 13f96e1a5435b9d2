package chattemplate_test

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/peaktest"
	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
	"github.com/stretchr/testify/require"
)

// A template that keeps what it makes, or makes much at once, is ended before it takes more
// memory than eight times the bytes that it may make: text and values are counted as
// what they take at least, and there is garbage beside them.
func TestHostileTemplatesAreBoundedInMemory(t *testing.T) {
	limits := chattemplate.For(4 << 20)
	if testing.Short() {
		limits = chattemplate.For(64 << 10)
	}
	kept := func(value string) string {
		return "{% set ns = namespace(s=0) %}" + strings.Repeat("{% for a in range(10000) %}", 3) + "{% set ns.s = " + value + " %}" + strings.Repeat("{% endfor %}", 3)
	}
	tests := map[string]string{
		"namespaces":    kept("namespace(s=ns.s)"),
		"dictionaries":  kept("dict(s=ns.s)"),
		"literals":      kept("{'s': ns.s}"),
		"empty ones":    kept("[ns.s, {}, {}, {}, {}]"),
		"named":         kept("[ns.s, dict(), dict(), namespace()]"),
		"lists":         kept("[ns.s]"),
		"empty lists":   kept("[ns.s, [], [], [], [], []]"),
		"generators":    kept("[ns.s, []|map('upper'), []|map('upper')]"),
		"texts":         kept("[ns.s, 'x' ~ a, 'y' ~ a]"),
		"numbers":       kept("[ns.s, a * 1000, a * 1001, a + 5]"),
		"loops":         kept("[ns.s, loop]"),
		"slices":        kept("[ns.s, messages[0].content[:1], messages[:1]]"),
		"sorted":        kept("[ns.s, messages|sort(attribute='role')]"),
		"pairs":         kept("[ns.s, messages[0]|items]"),
		"characters":    "{% set ns = namespace(s=[]) %}{% for a in range(10000) %}{% set ns.s = [ns.s, messages[0].content|list] %}{% endfor %}",
		"words":         "{% set ns = namespace(s=[]) %}{% for a in range(10000) %}{% set ns.s = [ns.s, messages[0].content.split('x')] %}{% endfor %}",
		"doubling":      "{% set ns = namespace(s='x') %}{% for a in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"doubled lists": "{% set ns = namespace(s=[1]) %}{% for a in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"ranges":        "{% set ns = namespace(s=0) %}{% for a in range(100000) %}{% set ns.s = [ns.s, range(100000)] %}{% endfor %}",
		"replacing":     "{% set s = messages[0].content %}{{ s.replace('x', s).replace('x', s) }}",
		"joining":       "{% set s = messages[0].content %}{{ s|join(s) }}",
		"many joined":   "{% set s = range(100000)|join %}{% for a in range(100000) %}{% if s|list|join(s) %}{% endif %}{% endfor %}",
		"as JSON":       "{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson(indent=16) }}",
		"output":        "{% for a in range(100000) %}{{ messages[0].content }}{% endfor %}",
		"blocks":        "{% set s = 'x' %}" + strings.Repeat("{% set s %}{{ s }}{{ s }}{% endset %}", 64) + "{{ s|length }}",
		"macros":        "{% macro m(s) %}{{ s }}{{ s }}{{ m(s ~ s) }}{% endmacro %}{{ m(messages[0].content) }}",
		"recursion":     "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			peaktest.Within(t, 8*int64(limits.Bytes)+32<<20, func() func() {
				template, err := chattemplate.Compile(source)
				require.NoError(t, err)
				args := messages(1, 10_000)
				return func() {
					_, err := template.Render(t.Context(), args, limits)
					require.ErrorIs(t, err, chattemplate.ErrTooMuch)
				}
			})
		})
	}
}
