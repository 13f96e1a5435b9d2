package pretok

import (
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// families lists the expressions of each family.
func families() map[string][]string {
	return map[string][]string{
		"qwen":     {patternQwen},
		"llama3":   {patternLlama},
		"o200k":    {patternO200k},
		"deepseek": {patternDigits, patternCJK, patternWords},
	}
}

// byExpression cuts with a regular-expression engine, as a tokenizer does.
func byExpression(t require.TestingT, patterns []string, text string) []string {
	pieces := []string{text}
	for _, p := range patterns {
		re := regexp2.MustCompile(p, regexp2.None)
		var out []string
		for _, piece := range pieces {
			runes, last := []rune(piece), 0
			m, err := re.FindStringMatch(piece)
			for ; m != nil; m, err = re.FindNextMatch(m) {
				require.NoError(t, err)
				out = appendPiece(out, runes[last:m.Index])
				out = appendPiece(out, runes[m.Index:m.Index+m.Length])
				last = m.Index + m.Length
			}
			require.NoError(t, err)
			out = appendPiece(out, runes[last:])
		}
		pieces = out
	}
	return pieces
}

func appendPiece(out []string, piece []rune) []string {
	if len(piece) == 0 {
		return out
	}
	return append(out, string(piece))
}

func pieces(s *Splitter, text string) (out []string) {
	s.Each(text, func(p string) bool {
		out = append(out, p)
		return true
	})
	return out
}

func TestCutsAsTheExpressionsDo(t *testing.T) {
	alphabet := []rune("aBzZ'sSTdmrevl 09١٣²Ⅷ \t\n\r\v\u00a0\u0085\u2003\u3000/!?.,-_<|>@`中文龥龦かナー゛ǅʰªéßИия\u0301\u0300\u20e3\u200d\ufeff\x00\x07€😀𝒜𐐀אܐ")
	for name, patterns := range families() {
		s := Find(patterns)
		require.NotNil(t, s, name)
		require.Equal(t, name, s.Name())
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := string(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 24).Draw(t, "text"))
				require.Equal(t, byExpression(t, patterns, text), pieces(s, text))
			})
		})
	}
}

func TestCutsAnyRuneAsTheExpressionsDo(t *testing.T) {
	for name, patterns := range families() {
		s := Find(patterns)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.String().Filter(func(s string) bool { return s != "" && !strings.Contains(s, "ſ") }).Draw(t, "text")
				require.Equal(t, byExpression(t, patterns, text), pieces(s, text))
			})
		})
	}
}

func TestLongSFoldsInContractions(t *testing.T) {
	require.Equal(t, []string{"it", "'ſ", "x"}, pieces(Find([]string{patternQwen}), "it'ſx"))
}

func TestUnknownExpressionsAreNotFound(t *testing.T) {
	require.Nil(t, Find(nil))
	require.Nil(t, Find([]string{`(a+)+$`}))
	require.Nil(t, Find([]string{patternWords}))
}

func TestNoTextTakesLong(t *testing.T) {
	n := 1 << 20
	if testing.Short() {
		n = 1 << 16
	}
	texts := []string{
		strings.Repeat("A", 4*n), strings.Repeat(" ", 4*n), strings.Repeat("\n ", 2*n),
		strings.Repeat("1", 4*n), strings.Repeat("ªA", n), strings.Repeat("\u0301A", n),
		strings.Repeat("中", n), strings.Repeat("'", 4*n), strings.Repeat("\xff", 4*n), strings.Repeat(" \x00", 2*n),
	}
	for name, patterns := range families() {
		s := Find(patterns)
		for _, text := range texts {
			start := time.Now()
			total := 0
			s.Each(text, func(p string) bool { total += len(p); return p != "" })
			require.Equal(t, len(text), total, name)
			require.Less(t, time.Since(start), 20*time.Second, "not linear: %s %q", name, text[:4])
		}
	}
}
