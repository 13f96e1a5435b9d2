package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func TestPeek_nesting(t *testing.T) {
	nested := func(before string, n int, open, inner, shut string) string {
		return `{` + before + `"model":"m","x":` + strings.Repeat(open, n) + inner + strings.Repeat(shut, n) + `}`
	}
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"deepest arrays":         {nested("", maxDepth-1, "[", "", "]"), true},
		"deepest objects":        {nested("", maxDepth-1, `{"a":`, "1", "}"), true},
		"one too deep":           {nested("", maxDepth, "[", "", "]"), false},
		"one object too deep":    {nested("", maxDepth, `{"a":`, "1", "}"), false},
		"half a million":         {nested("", 500_000, "[", "", "]"), false},
		"never closed":           {`{"model":"m","x":` + strings.Repeat("[", 1_000_000) + "}", false},
		"wide":                   {nested("", 1, "[", strings.Repeat(`{"a":[]},`, 20_000)+"1", "]"), true},
		"brackets in a string":   {nested(`"p":"`+strings.Repeat("[", 2000)+`",`, 1, "[", "", "]"), true},
		"after an escaped quote": {nested(`"p":"\"`+strings.Repeat("{", 2000)+`",`, 1, "[", "", "]"), true},
		"after an escaped slash": {nested(`"p":"\\",`, maxDepth, "[", "", "]"), false},
		"in a large body":        {nested(`"p":"`+strings.Repeat("a", 2<<20)+`",`, 20_000, "[", "", "]"), false},
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

// members reads an object with the scanner.
func members(text string) (list []string, ok bool, why fault) {
	s := scanner{text: text}
	ok = s.object(func(key, value string) bool {
		list = append(list, key, value)
		return true
	})
	return list, ok, s.fault
}

// membersByLibrary reads it with gjson, keys as they stand.
func membersByLibrary(text string) (list []string) {
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		list = append(list, key.Str, value.Raw)
		return true
	})
	return list
}

// requireAgrees holds the scanner against gjson: the same texts are valid, and
// the members of valid ones are the same.
func requireAgrees(t *testing.T, text string) {
	t.Helper()
	got, ok, why := members(text)
	if why == faultDepth {
		return
	}
	want := gjson.Valid(text) && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	require.Equal(t, want, ok, "%q", text)
	if ok {
		require.Equal(t, membersByLibrary(text), got, "%q", text)
	}
}

func texts() []string {
	return []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`, `{"a":[1,2,{"b":[]}],"c":{}}`,
		`{"a":[}`, `{"a":[1,]}`, `{"a":{"b"}}`, `{"a":{"b":1,}}`, `{"a":[1}`, `{"a":{"b":1]}`, `{"a":tru}`, `{"a":true,"b":false,"c":null}`, `{"a":nul`,
		`{"a":-}`, `{"a":-0}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1.5e+3}`, `{"a":1e}`, `{"a":1E-2}`, `{"a":+1}`, `{"a":1e400}`,
		`{"a":"\u00e9\n"}`, `{"a":"\u00g9"}`, `{"a":"\x"}`, `{"a":"\`, `{"a":"\u12`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\xfe\"}", `{"a\"b":"c\\"}`, `{"":""}`,
		`[]`, `"a"`, ``, ` `, `{`, `{"`, `{"a`, `{"a":`, `{"a":"12345678"}`, `{"a":"1234567\n"}`, `{"a":"12345678\""}`, "{\"a\":\"12345678\t\"}", "\ufeff{}",
	}
}

func TestScanner_agrees_with_the_library(t *testing.T) {
	for _, text := range texts() {
		requireAgrees(t, text)
		for i := range text {
			requireAgrees(t, text[:i])
		}
	}
}

// Every special character is found at every place of a word.
func TestPlain_finds_specials_anywhere(t *testing.T) {
	for _, special := range []string{`"`, `\`, "\x00", "\x1f", "\n"} {
		for at := range 40 {
			text := strings.Repeat("\u00e9\u007f ~", 10)[:at] + special + strings.Repeat("!\x80\xff", 10)
			require.Equal(t, at, plain(text, 0), "%q", text)
		}
	}
	require.Equal(t, 40, plain(strings.Repeat("#\xff", 20), 0))
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { requireAgrees(t, text) })
}
