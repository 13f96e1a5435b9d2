package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeek_payloads(t *testing.T) {
	block := func(source string) string { return `{"type":"image","source":{` + source + `}}` }
	const four = `"type":"base64","media_type":"image/png","data":"AAAA"`
	for _, tc := range []struct {
		name, body string
		dialect    Dialect
		want       uint64
	}{
		{"image", `{"model":"m","messages":[{"content":[` + block(four) + `]}]}`, DialectMessages, 4},
		{"image, data first", `{"model":"m","messages":[{"content":[` + block(`"data":"AAAA","type":"base64"`) + `]}]}`, DialectMessages, 4},
		{"two messages", `{"model":"m","messages":[{"content":[` + block(four) + `]},{"content":"x"},{"content":[{"text":"y"},` + block(four) + `]}]}`, DialectMessages, 8},
		{"in a tool's result", `{"model":"m","messages":[{"content":[{"type":"tool_result","content":[` + block(four) + `]}]}]}`, DialectMessages, 4},
		{"a tool's result in text", `{"model":"m","messages":[{"content":[{"type":"tool_result","content":"AAAA"}]}]}`, DialectMessages, 0},
		{"text", `{"model":"m","messages":[{"content":[` + block(`"type":"text","data":"AAAA"`) + `]}]}`, DialectMessages, 0},
		{"url", `{"model":"m","messages":[{"content":[` + block(`"type":"url","url":"https://x"`) + `]}]}`, DialectMessages, 0},
		{"data: URL in its place is counted once", `{"model":"m","messages":[{"content":[` + block(`"type":"base64","data":"data:;base64,AA"`) + `]}]}`, DialectMessages, 10},
		{"odd shapes", `{"model":"m","messages":[1,{"content":7},{"content":[null,{"source":"x"},{"source":{"type":"base64","data":4}}]}]}`, DialectMessages, 0},
		{"no list", `{"model":"m","messages":"x"}`, DialectMessages, 0},
		{"no messages", `{"model":"m"}`, DialectMessages, 0},
		{"another dialect", `{"model":"m","messages":[{"content":[` + block(four) + `]}]}`, DialectChat, 0},
		{"generate", `{"text":"t","image_data":["AAAA","BB"]}`, DialectGenerate, 13},
		{"generate, data: URL", `{"image_data":"data:image/png;base64,AAAA","text":"t"}`, DialectGenerate, 43 - 15},
		{"generate, both", `{"x":"data:;base64,AA","audio_data":"AAAA"}`, DialectGenerate, 10 + 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			facts, err := Peek(tc.body, tc.dialect)
			require.NoError(t, err)
			require.Equal(t, tc.want, facts.Data)
		})
	}
	body := `{"model":"m","messages":[{"content":[` + block(`"type":"base64","data":"`+strings.Repeat("A", 1<<20)+`"`) + `]}]}`
	facts, err := Peek(body, DialectMessages)
	require.NoError(t, err)
	require.Less(t, facts.EstimateTokens(), uint64(100))
}
