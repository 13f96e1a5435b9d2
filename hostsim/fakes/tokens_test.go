package fakes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

func TestCountTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "   \n\t": 0, "a": 1, "word": 1, "words": 2, "two words": 3, " a  b\nc ": 3, "123456789": 3,
		strings.Repeat("word ", 1000): 1000,
	} {
		require.Equal(t, want, countTokens(text), "%.20q", text)
	}
}

func TestCountEqualsIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		require.Len(t, appendTokens(nil, text), countTokens(text))
	})
}

func TestWordsAreOneTokenEach(t *testing.T) {
	text := ""
	for i := range 100 {
		text += word(5, i)
	}
	require.Equal(t, 100, countTokens(text))
	require.NotEqual(t, word(0, 0), word(1, 0))
}

func TestChatTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		messages, tools string
		want            int
	}{
		"one":     {`[{"role":"user","content":"word"}]`, ``, 1 + 8},
		"two":     {`[{"content":"word"},{"content":"word word"}]`, ``, 3 + 13},
		"nothing": {`[{"role":"assistant","tool_calls":null},{"content":null}, 3]`, `null`, 18},
		"parts":   {`[{"content":[{"type":"text","text":"word"},{"type":"image_url","image_url":{"url":"data:xxxxxxxx"}}]}]`, ``, 1 + 8 + mediaPartTokens},
		"tools":   {`[{"content":"word"}]`, `[{"a":1}]`, 1 + 3 + 8},
		"calls":   {`[{"tool_calls":[{"a":1}]}]`, ``, 3 + 8},
		"escapes": {`[{"content":"wo\u0072d"}]`, ``, 1 + 8},
	} {
		require.Equal(t, tc.want, chatTokens(gjson.Parse(tc.messages), gjson.Parse(tc.tools)), name)
	}
}

func TestPromptTokens(t *testing.T) {
	for text, want := range map[string]struct {
		tokens, prompts int
		ok              bool
	}{
		`"two words"`:       {3, 1, true},
		`[1,2,3]`:           {3, 1, true},
		`["word","words"]`:  {3, 2, true},
		`[[1,2],[3]]`:       {3, 2, true},
		`[1,"word"]`:        {1, 1, false},
		`[["word"]]`:        {0, 0, false},
		`[]`:                {0, 0, false},
		`{}`:                {0, 0, false},
		`null`:              {0, 0, false},
		`[1,{"text":"no"}]`: {1, 1, false},
	} {
		tokens, prompts, ok := promptTokens(gjson.Parse(text))
		require.Equal(t, want.ok, ok, text)
		if ok {
			require.Equal(t, want.tokens, tokens, text)
			require.Equal(t, want.prompts, prompts, text)
		}
	}
}
