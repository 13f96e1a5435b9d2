package chat

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read the short way is what the library reads.
func TestTakeUsual_agrees_with_the_library(t *testing.T) {
	for _, m := range []member{memberModel, memberStream, memberMaxTokens, memberMaxCompletion, memberRid, memberAdapter, memberSalt} {
		for _, raw := range []string{
			`true`, `false`, `null`, `""`, `"a"`, `"a model/with-things:latest"`, `"\u0041\n"`, `"\\"`, `"a\"b"`, "\"\xff\"", `"true"`, `"7"`,
			`0`, `7`, `16`, `999999999999999999`, `1000000000000000000`, `18446744073709551615`, `99999999999999999999`, `-1`, `1.0`, `1.5`, `1e3`, `-0`,
			`{}`, `[]`, `[1,2]`, `{"a":[true]}`,
		} {
			var short, long reader
			if !short.takeUsual(m, raw) {
				continue
			}
			require.NoError(t, long.takeAny(m, "key", raw), "%d %s", m, raw)
			require.Equal(t, long, short, "%d %s", m, raw)
		}
	}
}

// Every byte at every place of a stride is found, whatever stands around it.
func TestPlain_finds_what_a_loop_finds(t *testing.T) {
	naive := func(text string, i int) int {
		for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
			i++
		}
		return i
	}
	r := rand.New(rand.NewPCG(3, 4))
	text, usual := make([]byte, 3*stride), []byte("a!#[]\x80\xff\x7f~ ")
	for range 20_000 {
		for i := range text {
			text[i] = byte(' ' + r.IntN(256-' ')) // a quote or backslash now and then
			if r.IntN(3) > 0 {
				text[i] = usual[r.IntN(len(usual))]
			}
		}
		if r.IntN(2) == 0 {
			text[r.IntN(len(text))] = byte(r.IntN(256))
		}
		s, from := string(text[:r.IntN(len(text)+1)]), 0
		if len(s) > 0 {
			from = r.IntN(len(s))
		}
		require.Equal(t, naive(s, from), plain(s, from), "%q from %d", s, from)
	}
	for c := range 256 {
		for at := range 2 * stride {
			for i := range text {
				text[i] = 'x'
			}
			text[at] = byte(c)
			require.Equal(t, naive(string(text), 0), plain(string(text), 0), "byte %d at %d", c, at)
		}
	}
}
