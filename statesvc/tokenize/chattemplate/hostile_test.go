package chattemplate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
)

func messages(n, size int) *chattemplate.Dict {
	l := &chattemplate.List{}
	for range n {
		m := chattemplate.NewDict()
		m.Set("role", "user")
		m.Set("content", strings.Repeat("x", size))
		l.Items = append(l.Items, m)
	}
	d := chattemplate.NewDict()
	d.Set("messages", l)
	return d
}

func TestHostileTemplatesAreBounded(t *testing.T) {
	deepMacros := ""
	for i := range 60 {
		deepMacros += fmt.Sprintf("{%% macro m%d() %%}{{ m%d() }}{{ m%d() }}{%% endmacro %%}", i+1, i, i)
	}
	tests := map[string]string{
		"loops":          strings.Repeat("{% for a in range(1000) %}", 8) + strings.Repeat("{% endfor %}", 8),
		"output":         "{% for a in range(100000) %}{{ messages[0].content }}{% endfor %}",
		"text":           "{% for a in range(100000) %}" + strings.Repeat("x", 10_000) + "{% endfor %}",
		"doubling":       "{% set ns = namespace(s='x') %}{% for a in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"doubling lists": "{% set ns = namespace(s=[1]) %}{% for a in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"replacing":      "{% set s = messages[0].content %}{{ s.replace('x', s).replace('x', s) }}",
		"joining":        "{% set s = messages[0].content %}{{ s|join(s) }}",
		"deep":           "{% set ns = namespace(s=[]) %}{% for a in range(99) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s == ns.s }}",
		"wide":           "{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}",
		"wide equal":     "{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s == ns.s }}",
		"recursion":      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"calls":          "{% macro m0() %}x{% endmacro %}" + deepMacros + "{{ m30() }}",
		"sorting":        "{% set s = messages[0].content %}{% for a in range(100000) %}{% if s|sort %}{% endif %}{% endfor %}",
		"sorting words":  "{% set ns = namespace(s=['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'b']) %}{% for a in range(17) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{% for a in range(1000) %}{% if ns.s|sort %}{% endif %}{% endfor %}",
		"sorting deep":   "{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ [ns.s, ns.s]|sort|length }}",
		"sorting names":  "{% for a in range(100000) %}{% if messages[0]|dictsort %}{% endif %}{% endfor %}",
		"mapping":        "{% set s = messages[0].content %}{% for a in range(100000) %}{% if s|map('upper') %}{% endif %}{% endfor %}",
		"mapping texts":  "{% set s = messages[0].content %}{% for a in range(100000) %}{{ [s, s]|map('replace', 'x', s)|join }}{% endfor %}",
		"whole numbers":  "{% set s = messages[0].content %}{% for a in range(100000) %}{% if s|int %}{% endif %}{% endfor %}",
		"searching":      "{% set s = messages[0].content %}{% for a in range(100000) %}{% if 'y' in s %}{% endif %}{% endfor %}",
		"blocks":         "{% set s = 'x' %}" + strings.Repeat("{% set s %}{{ s }}{{ s }}{% endset %}", 64) + "{{ s|length }}",
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			template, err := chattemplate.Compile(source)
			require.NoError(t, err)
			start := time.Now()
			_, err = template.Render(t.Context(), messages(1, 100_000), chattemplate.For(100_000))
			require.ErrorIs(t, err, chattemplate.ErrTooMuch)
			require.Less(t, time.Since(start), 30*time.Second)
		})
	}
}

func TestWhatIsNotDoneIsRefusedAtLoad(t *testing.T) {
	tests := map[string]string{
		"{% include 'x' %}":           `"include" is not done`,
		"{% raw %}x{% endraw %}":      `"raw" is not done`,
		"{% call m() %}{% endcall %}": `"call" is not done`,
		"{{ x|attr('y') }}":           `filter "attr"`,
		"{{ x|map('attr', 'y') }}":    "map by attr",
		"{{ x|map('map', 'upper') }}": "map by map",
		"{{ x.__class__() }}":         "method __class__",
		"{{ x is divisibleby(3) }}":   `test "divisibleby"`,
		"{{ cycler(1) }}":             "function cycler",
		"{{ x[0]() }}":                "no name",
		"{{ 2 ** 9 }}":                "operator **",
		"{{ 1 < 2 < 3 }}":             "chain",
		"{{ x y }}":                   `"y" is not expected`,
		"{% if x %}":                  `"endif" is missing`,
		"{% endif %}":                 "no beginning",
		"{% for x y %}{% endfor %}":   "in is expected",
		"{{ x":                        "without an end",
		"{{ 'x":                       "without an end",
		"{# x":                        "without an end",
		"{{ $ }}":                     "sign",
		"{{ x.items }}":               "taken for a value",
		"{{ '\\N{DASH}' }}":           "escape",
		"{% %}":                       "statement",
		strings.Repeat("x", 300_000):  "256 KiB",
		"{{ " + strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5) + " }}":     "nests deeper",
		"{{ " + strings.Repeat("not ", 6e4) + "x }}":                                  "nests deeper",
		"{{ " + strings.Repeat("-", 1e5) + "1 }}":                                     "nests deeper",
		"{{ " + strings.Repeat("[", 1e5) + " }}":                                      "without an end",
		"{{ " + strings.Repeat("x if y else ", 2e4) + "x }}":                          "nests deeper",
		strings.Repeat("{% if x %}", 2e4):                                             "nest deeper",
		strings.Repeat("{% for x in y %}", 5e3) + strings.Repeat("{% endfor %}", 5e3): "nest deeper",
	}
	for source, want := range tests {
		_, err := chattemplate.Compile(source)
		require.ErrorContains(t, err, want, "%.60s", source)
	}
	_, err := chattemplate.Compile("{{ x|foo }}\n{{ y|bar }}{% baz %}")
	var all *chattemplate.CompileError
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Problems, 3)
	require.Contains(t, all.Problems[1], "line 2")
}

func TestLongChainsAreRendered(t *testing.T) {
	for _, chain := range []string{strings.Repeat("~ 1 ", 5e4), strings.Repeat("|string", 3e4), strings.Repeat("[0]", 8e4), strings.Repeat("- 1 ", 5e4)} {
		template, err := chattemplate.Compile("{{ 1 " + chain + "}}")
		require.NoError(t, err)
		_, _ = template.Render(t.Context(), messages(1, 1), chattemplate.For(1<<24))
	}
}

func TestTheClockIsNotRead(t *testing.T) {
	template, err := chattemplate.Compile("{{ strftime_now('%Y') }}")
	require.NoError(t, err)
	_, err = template.Render(t.Context(), messages(1, 1), chattemplate.For(100))
	require.ErrorContains(t, err, "not done here")
}

func TestTheTemplatesWordsAreKept(t *testing.T) {
	template, err := chattemplate.Compile("{{ raise_exception('roles must alternate') }}")
	require.NoError(t, err)
	_, err = template.Render(t.Context(), messages(1, 1), chattemplate.For(100))
	var raised *chattemplate.RaisedError
	require.ErrorAs(t, err, &raised)
	require.Equal(t, "roles must alternate", raised.Message)
}

func TestRenderingEndsWithItsContext(t *testing.T) {
	template, err := chattemplate.Compile("{% for a in range(100000) %}{{ a }}{% endfor %}")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = template.Render(ctx, messages(1, 1), chattemplate.For(1<<20))
	require.ErrorIs(t, err, context.Canceled)
}

func TestManyMessages(t *testing.T) {
	template, err := chattemplate.Compile(config(t, "qwen3").Get("chat_template").Str)
	require.NoError(t, err)
	args := messages(100_000, 3)
	args.Set("add_generation_prompt", true)
	got, err := template.Render(t.Context(), args, chattemplate.For(100_000*40))
	require.NoError(t, err)
	require.Equal(t, 100_000, strings.Count(got, "<|im_end|>"))
}

func FuzzCompileAndRender(f *testing.F) {
	for _, s := range []string{
		"{% for m in messages %}{{ m.role + '\\n' + m.content }}{% endfor %}", "{{ messages|tojson(indent=2) }}",
		"{% macro m(a=1) %}{{ a }}{% endmacro %}{{ m(2) }}", "{%- set ns = namespace(a=[]) -%}", "{{ messages|sort(attribute='role')|map(attribute='content')|join }}", "{% for k, v in messages[0]|dictsort(true) %}{{ k ~ ('0x1f'|int(base=16)) }}{% endfor %}", "{{ messages[::-1][0]['role'][1:] }}",
		"{% if a is not defined and not b or c in d %}x{% elif 1 %}{% else %}{% endif %}", "{{ '\\x41' ~ 1.5 // 2 }}", "{# #}{{ {'a': (1,)} }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		template, err := chattemplate.Compile(source)
		if err != nil {
			return
		}
		_, _ = template.Render(t.Context(), messages(3, 10), chattemplate.Limits{Steps: 100_000, Bytes: 1 << 20})
	})
}
