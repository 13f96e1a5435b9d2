package prompt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
)

func TestWhatIsTokenized(t *testing.T) {
	tests := map[string]struct {
		dialect  chat.Dialect
		body     string
		features prompt.Features
		texts    []string
		ids      [][]uint32
	}{
		"chat":             {dialect: chat.DialectChat, body: `{"model":"m","messages":[]}`, features: prompt.Chat},
		"tools":            {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"tools":[{}]}`, features: prompt.Chat | prompt.Tools},
		"no tools":         {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"tools":[]}`, features: prompt.Chat},
		"null tools":       {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"tools":null}`, features: prompt.Chat},
		"kwargs":           {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"chat_template_kwargs":{"a":1}}`, features: prompt.Chat | prompt.Template},
		"defaults":         {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"add_generation_prompt":true,"continue_final_message":false,"chat_template_kwargs":{}}`, features: prompt.Chat},
		"continue":         {dialect: chat.DialectChat, body: `{"model":"m","messages":[],"continue_final_message":true}`, features: prompt.Chat | prompt.Continue},
		"messages no list": {dialect: chat.DialectChat, body: `{"model":"m","messages":"x"}`},
		"text":             {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":"a\n"}`, features: prompt.Text, texts: []string{"a\n"}},
		"texts (D04)":      {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":["a","b"]}`, features: prompt.Text, texts: []string{"a", "b"}},
		"ids":              {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":[1,2]}`, ids: [][]uint32{{1, 2}}},
		"lists of ids":     {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":[ [1,2],[3]]}`, ids: [][]uint32{{1, 2}, {3}}},
		"mixed":            {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":["a",1]}`},
		"big id":           {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":[4294967296]}`},
		"empty list":       {dialect: chat.DialectCompletions, body: `{"model":"m","prompt":[[]]}`},
		"generate":         {dialect: chat.DialectGenerate, body: `{"text":"a"}`, features: prompt.Text, texts: []string{"a"}},
		"generate ids":     {dialect: chat.DialectGenerate, body: `{"input_ids":[1],"text":"a"}`, ids: [][]uint32{{1}}},
		"embeddings":       {dialect: chat.DialectEmbeddings, body: `{"model":"m","input":["a"]}`, features: prompt.Text, texts: []string{"a"}},
		"responses (D05)":  {dialect: chat.DialectResponses, body: `{"model":"m","input":"a"}`},
		"messages (D02)":   {dialect: chat.DialectMessages, body: `{"model":"m","system":"s","messages":[]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := prompt.Read(tt.dialect, tt.body)
			require.NoError(t, err)
			require.Equal(t, tt.features, p.Features, p.Features.String())
			require.Equal(t, tt.texts, p.Texts)
			require.Equal(t, tt.ids, p.IDs)
		})
	}
}

func TestTheLastOfTwoMembersCounts(t *testing.T) {
	p, err := prompt.Read(chat.DialectChat, `{"model":"m","messages":[1],"messages":[2],"documents":[1],"documents":null,"t\u006fols":[3],"add_generation_prompt":false,"add_generation_prompt":true}`)
	require.NoError(t, err)
	require.Equal(t, "[2]", p.Messages)
	require.Equal(t, "[3]", p.Tools)
	require.Empty(t, p.Members)
}

func TestTextThatIsNone(t *testing.T) {
	for _, content := range []string{`\ud800`, `\udc00`, `\ud800x`, `\ud800\ud800`, `\ud83d\u0041`, "\xff", `\\\ud800`} {
		_, err := prompt.Read(chat.DialectChat, `{"model":"m","messages":[{"content":"`+content+`"}]}`)
		require.ErrorIs(t, err, prompt.ErrNotText, content)
	}
	for _, content := range []string{`\ud83d\ude00`, `\\ud800`, `\u0000`, `\"\\`, `\\\\ud800`} {
		_, err := prompt.Read(chat.DialectChat, `{"model":"m","messages":[{"content":"`+content+`"}]}`)
		require.NoError(t, err, content)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	for _, body := range []string{``, `[]`, `{`, `{"messages":[]}`, `{"model":"m","model":"n"}`, `{"model":"m","messages":` + strings.Repeat("[", 1<<20)} {
		_, err := prompt.Read(chat.DialectChat, body)
		var refused *chat.Error
		require.ErrorAs(t, err, &refused, "%.40s", body)
	}
}

func TestRawText(t *testing.T) {
	p, err := prompt.Read(chat.DialectMessages, `{"model":"m","system":"be terse","messages":[{"role":"user","content":[`+
		`{"type":"text","text":"hi"},{"type":"image","source":{"type":"base64","data":"QUJD"}}]}]}`)
	require.NoError(t, err)
	require.Contains(t, p.RawText(), "be terse\n")
	require.Contains(t, p.RawText(), "hi\n")
	require.NotContains(t, p.RawText(), "QUJD")
}
