package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// bodies are where the fuzzers begin; testdata holds what they found worth
// keeping.
func bodies() []string {
	return []string{
		`{"model":"m"}`, `{"model":"m","max_tokens":1}`, `{`, `{}`, `{"a":"\u`, `{"data":"data:x"}`, "{\x00}", `{"model":"m","messages":[{"content":"data:`,
		`{"model":"m","prompt":[[1,2],[3]],"n":"1_0","stream":true,"temperature":1e400}`,
		`{"text":"t","sampling_params":{"max_new_tokens":4,"temperature":null},"rid":"r"}`,
		`{"input_ids":[1,2,3],"sampling_params":[{"max_new_tokens":4},null],"lora_path":"l"}`,
		`{"model":"m","input":[{"role":"user"}],"instructions":"i","max_output_tokens":7}`,
		`{"model":"m","system":"s","messages":[{"role":"user","content":"x"}],"max_tokens":9,"cache_salt":"c"}`,
		`{"model":"m","input":["a","b"]}`,
		`{"model":"m","messages":[{"content":[{"source":{"type":"base64","data":"AAAA"}},{"content":[{"source":{"type":"base64","data":"data:;base64,AA"}}]}]}]}`,
		`{"text":"t","image_data":["data:;base64,AA","BB"]}`,
	}
}

// checkPeek states what holds of every body in a dialect.
func checkPeek(t *testing.T, body string, d Dialect) {
	t.Helper()
	facts, err := Peek(body, d)
	if err != nil {
		var refusal *Error
		require.ErrorAs(t, err, &refusal)
		return
	}
	require.True(t, gjson.Valid(body))
	require.Equal(t, d != DialectGenerate, facts.Model != "")
	require.LessOrEqual(t, facts.Data, facts.Bytes)
	require.GreaterOrEqual(t, facts.EstimateTokens(), uint64(1))
	require.GreaterOrEqual(t, facts.Batch, uint64(1))
	require.Equal(t, byte('}'), body[facts.Brace])
	if d != DialectResponses && d != DialectMessages {
		require.Contains(t, body, facts.Prompt)
	}
	if !facts.PerPrompt && d.Sampling() != 0 {
		checkPlace(t, body, d, &facts)
	}
	if !facts.HasRid && d.TakesRid() {
		checkRidPlace(t, body, &facts)
	}
}

// checkRidPlace adds a rid: the last one of a parser is ours.
func checkRidPlace(t *testing.T, body string, facts *Facts) {
	t.Helper()
	at := facts.RidPlace.At
	after := body[:at] + facts.RidPlace.Text(`"rid":"ours"`) + body[at:]
	require.True(t, gjson.Valid(after), after)
	last := ""
	gjson.Parse(after).ForEach(func(key, value gjson.Result) bool {
		if key.Str == "rid" {
			last = value.Str
		}
		return true
	})
	require.Equal(t, "ours", last)
}

// checkPlace adds a member and looks for it.
func checkPlace(t *testing.T, body string, d Dialect, facts *Facts) {
	t.Helper()
	at := facts.Place.At
	again, err := Peek(body[:at]+facts.Place.Text(`"temperature":0.25`)+body[at:], d)
	if err != nil && strings.Contains(err.Error(), "stands twice") && strings.Contains(body, "null") {
		return // a second sampling_params after null
	}
	require.NoError(t, err)
	require.InDelta(t, 0.25, again.Sampling[0].Number, 0)
	require.Equal(t, facts.Output, again.Output)
	require.Equal(t, facts.Model, again.Model)
}

func fuzzDialect(f *testing.F, d Dialect) {
	for _, s := range bodies() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) { checkPeek(t, body, d) })
}

func FuzzPeek(f *testing.F)           { fuzzDialect(f, DialectCompletions) }
func FuzzPeekChat(f *testing.F)       { fuzzDialect(f, DialectChat) }
func FuzzPeekGenerate(f *testing.F)   { fuzzDialect(f, DialectGenerate) }
func FuzzPeekResponses(f *testing.F)  { fuzzDialect(f, DialectResponses) }
func FuzzPeekMessages(f *testing.F)   { fuzzDialect(f, DialectMessages) }
func FuzzPeekEmbeddings(f *testing.F) { fuzzDialect(f, DialectEmbeddings) }
