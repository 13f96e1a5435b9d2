package chat

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

func TestPeek_facts(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       Facts
	}{
		{"smallest", `{"model":"m"}`, Facts{Model: "m"}},
		{"stream", `{"model":"m","stream":true}`, Facts{Model: "m", Stream: true}},
		{"stream null", `{"model":"m","stream":null}`, Facts{Model: "m"}},
		{"output", `{"max_tokens":16,"model":"m"}`, Facts{Model: "m", Output: core.Known(16)}},
		{"zero output is known", `{"max_tokens":0,"model":"m"}`, Facts{Model: "m", Output: core.Known(0)}},
		{"null output is unknown", `{"max_tokens":null,"model":"m"}`, Facts{Model: "m"}},
		{"whole float", `{"max_tokens":16.0,"model":"m"}`, Facts{Model: "m", Output: core.Known(16)}},
		{"completion budget wins", `{"max_completion_tokens":7,"max_tokens":16,"model":"m"}`, Facts{Model: "m", Output: core.Known(7)}},
		{"null completion budget does not win", `{"max_tokens":16,"max_completion_tokens":null,"model":"m"}`, Facts{Model: "m", Output: core.Known(16)}},
		{"largest budget", `{"max_tokens":18446744073709551615,"model":"m"}`, Facts{Model: "m", Output: core.Known(1<<64 - 1)}},
		{"rid", `{"rid":"x","model":"m"}`, Facts{Model: "m", HasRid: true}},
		{"escaped key", `{"mod\u0065l":"m"}`, Facts{Model: "m"}},
		{"nested names do not count", `{"model":"m","metadata":{"model":"other","stream":true}}`, Facts{Model: "m"}},
		{"white space around", " \n{\"model\":\"m\"}\r\n", Facts{Model: "m"}},
		{"a member routing does not read may stand twice", `{"x":1,"x":2,"model":"m"}`, Facts{Model: "m"}},
		{"image", `{"model":"m","messages":[{"content":[{"image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`, Facts{Model: "m", Data: 21}},
		{"a pasted event stream is prompt text", `{"model":"m","messages":[{"content":"data: {}; base64, data:"}]}`, Facts{Model: "m"}},
		{"two images, one as plain text", `{"model":"m","a":["data:;base64,AA","data:text/plain,hello","data:audio/wav;base64,"]}`, Facts{Model: "m", Data: 10 + 17}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Bytes = uint64(len(tc.body))
			got, err := Peek(tc.body, DialectChat)
			require.NoError(t, err)
			require.Equal(t, tc.want, Facts{ // the others have tests of their own
				Model: got.Model, Output: got.Output, Stream: got.Stream, HasRid: got.HasRid, Bytes: got.Bytes, Data: got.Data,
			})
		})
	}
}

func TestPeek_prompt(t *testing.T) {
	for _, tc := range []struct {
		dialect    Dialect
		body, want string
	}{
		{DialectChat, `{"model":"m", "messages": [ {"role": "user"} ] }`, `[ {"role": "user"} ]`},
		{DialectChat, `{"model":"m","m\u0065ssages":[]}`, `[]`},
		{DialectChat, `{"messages":[1],"model":"m","messages":[2]}`, `[2]`},
		{DialectChat, `{"model":"m","prompt":"p","metadata":{"messages":[1]}}`, ``},
		{DialectCompletions, `{"prompt":"caf\u00e9 \"x\"","model":"m","messages":[1]}`, `"caf\u00e9 \"x\""`},
		{DialectCompletions, `{"prompt":["x","y"],"model":"m"}`, `["x","y"]`},
	} {
		facts, err := Peek(tc.body, tc.dialect)
		require.NoError(t, err)
		require.Equal(t, tc.want, facts.Prompt)
	}
}

// Nothing of a body is copied, however long it is.
func TestPeek_prompt_is_a_part_of_the_body(t *testing.T) {
	body := `{"model":"m","messages":["` + strings.Repeat("a", 1<<19) + `"]}`
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if facts, err := Peek(body, DialectChat); err != nil || len(facts.Prompt) < 1<<19 {
			t.Error(err)
		}
	}))
}

func TestPeek_refuses(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"empty", ``, "must be a JSON object"},
		{"blank", "  \n", "must be a JSON object"},
		{"array", `[{"model":"m"}]`, "must be a JSON object"},
		{"string", `"model"`, "must be a JSON object"},
		{"head of a gRPC frame (D14)", "\x00\xff\xff\xff\xff", "must be a JSON object"},
		{"gRPC frame (D14)", "\x01\xff\xff\xff\xff" + `{"model":"m"}`, "must be a JSON object"},
		{"object before a frame (D14)", `{"model":"m"}` + "\xff\xff\xff\xff", "not valid JSON"},
		{"cut", `{"model":"m"`, "not valid JSON"},
		{"rubbish", `{"model":"m",}`, "not valid JSON"},
		{"two objects", `{"model":"m"}{"model":"n"}`, "not valid JSON"},
		{"no model", `{"messages":[]}`, `"model" is missing`},
		{"empty model", `{"model":""}`, `"model" is missing`},
		{"model null", `{"model":null}`, `"model" must be a string`},
		{"model number", `{"model":3}`, `"model" must be a string`},
		{"model twice", `{"model":"m","model":"n"}`, `"model" stands twice`},
		{"model twice, escaped", `{"model":"m","\u006dodel":"n"}`, `"model" stands twice`},
		{"stream twice, null", `{"model":"m","stream":null,"stream":null}`, `"stream" stands twice`},
		{"stream text", `{"model":"m","stream":"yes"}`, `"stream" must be true or false`},
		{"budget text", `{"model":"m","max_tokens":"16"}`, `"max_tokens" must be a whole number`},
		{"budget negative", `{"model":"m","max_tokens":-1}`, `"max_tokens" must be a whole number`},
		{"budget fraction", `{"model":"m","max_tokens":1.5}`, `"max_tokens" must be a whole number`},
		{"budget too large", `{"model":"m","max_completion_tokens":18446744073709551616}`, `"max_completion_tokens" must be a whole number`},
		{"budget beyond float", `{"model":"m","max_tokens":1e400}`, `"max_tokens" must be a whole number`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Peek(tc.body, DialectChat)
			require.ErrorContains(t, err, tc.want)
			var refusal *Error
			require.ErrorAs(t, err, &refusal)
		})
	}
}

func TestPeek_large_body_is_walked_at_its_top_level(t *testing.T) {
	filler := strings.Repeat("a", 2<<20)
	facts, err := Peek(`{"messages":[{"content":"`+filler+`"}],"model":"m"}`, DialectChat)
	require.NoError(t, err)
	require.Equal(t, "m", facts.Model)

	_, err = Peek(`{"model":"m","messages":[{"content":"`+filler+`"}],"model":"n"}`, DialectChat)
	require.ErrorContains(t, err, "stands twice")

	_, err = Peek(`{"model":"m","messages":[{"content":"`+filler, DialectChat)
	require.ErrorContains(t, err, "not valid JSON")
}

func TestEstimateTokens(t *testing.T) {
	require.Equal(t, uint64(1), (&Facts{Bytes: 3}).EstimateTokens())
	require.Equal(t, uint64(25), (&Facts{Bytes: 100}).EstimateTokens())
	require.Equal(t, uint64(10), (&Facts{Bytes: 100, Data: 60}).EstimateTokens())
}

func TestPeek_does_not_keep_the_body(t *testing.T) {
	body := []byte(`{"model":"model-name","messages":[]}`)
	facts, err := Peek(string(body), DialectChat)
	require.NoError(t, err)
	require.Equal(t, "model-name", facts.Model)
}

func BenchmarkPeek(b *testing.B) {
	for name, size := range map[string]int{"size=4k": 4 << 10, "size=1m": 1<<20 - 100, "size=32m": 32 << 20} {
		body := `{"messages":[{"role":"user","content":"` + strings.Repeat("lorem ipsum ", size/12) + `"}],"model":"m","max_tokens":16}`
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Peek(body, DialectChat); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
