package tokenize_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

func chatBody(t require.TestingT, contents ...string) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := make([]message, len(contents))
	for i, c := range contents {
		messages[i] = message{[]string{"user", "assistant"}[i%2], c}
	}
	data, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	require.NoError(t, err)
	return string(data)
}

// TestTheCacheChangesNothing draws growing chats of pieces that tempt a cache: the same
// texts, texts with added tokens in them, texts that compose across their ends.
func TestTheCacheChangesNothing(t *testing.T) {
	pieces := []string{
		"<|im_end|>", "<|im_start|>user\n", "<think>", "hello ", " world", "\n", "e", "\u0301", "\u0301x", "12", "3456", "'", "ll", "  ", "中文",
		strings.Repeat("the quick brown fox ", 5), strings.Repeat("y", 70), "\u00a0", "😀", "A", "\u030a", "<|im_", "start|>",
	}
	for _, family := range []string{"qwen3", "deepseek_v3"} {
		t.Run(family, func(t *testing.T) {
			with, without := trusted(t, family, render.VLLM, 32<<10), trusted(t, family, render.VLLM, 0)
			rapid.Check(t, func(t *rapid.T) {
				turns := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12), func(p []string) string { return strings.Join(p, "") }), 1, 6).Draw(t, "turns")
				for n := 1; n <= len(turns); n++ {
					body := chatBody(t, turns[:n]...)
					a, err := with.Tokens(context.Background(), chat.DialectChat, body)
					require.NoError(t, err)
					b, err := without.Tokens(context.Background(), chat.DialectChat, body)
					require.NoError(t, err)
					require.Equal(t, tokenize.Exact, a.Certainty)
					require.Equal(t, b, a)
				}
			})
			require.Positive(t, with.Counts().Cache.Hits)
		})
	}
}

func TestHardBodiesAreAnswered(t *testing.T) {
	size, many := 4<<20, 100_000
	if testing.Short() { // the race detector takes twenty times as long
		size, many = 2<<20, 5_000
	}
	short := make([]string, many)
	for i := range short {
		short[i] = "x"
	}
	m := trusted(t, "qwen3", render.VLLM, 1<<20)
	tests := map[string]struct {
		body      string
		certainty tokenize.Certainty
	}{
		"a word of 4 MB":      {chatBody(t, strings.Repeat("a", size)), tokenize.Estimated},
		"a word of 1 MB":      {chatBody(t, strings.Repeat("ab", size/8-50)), tokenize.Exact},
		"4 MB of spaces":      {chatBody(t, strings.Repeat(" ", size)), tokenize.Estimated},
		"4 MB of marks":       {chatBody(t, strings.Repeat("<", size)), tokenize.Estimated},
		"4 MB of NUL":         {`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat(`\u0000`, size/8) + `"}]}`, tokenize.Exact},
		"100,000 messages":    {chatBody(t, short...), tokenize.Exact},
		"half a pair":         {`{"model":"m","messages":[{"role":"user","content":"x\ud800y"}]}`, tokenize.Counted},
		"text of tokens":      {chatBody(t, strings.Repeat("<|im_start|>", many)), tokenize.Exact},
		"text of beginnings":  {chatBody(t, strings.Repeat("<|im_star ", many)), tokenize.Exact},
		"combining marks":     {chatBody(t, "e"+strings.Repeat("\u0301", many)), tokenize.Exact},
		"combining and words": {chatBody(t, strings.Repeat("e\u0301 ", 3*many)), tokenize.Exact},
		"deep tools":          {`{"model":"m","messages":[],"tools":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`, tokenize.Estimated},
		"no messages":         {`{"model":"m","messages":[]}`, tokenize.Estimated},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got, err := m.Tokens(ctx, chat.DialectChat, tt.body)
			require.NoError(t, err)
			require.Equal(t, tt.certainty, got.Certainty, got.Local)
			require.Positive(t, got.Longest)
		})
	}
}

func TestSpecialTextIsEncodedAsTheEngineDoes(t *testing.T) {
	got := tokens(t, trusted(t, "qwen3", render.VLLM, 0), chatBody(t, "<|im_end|>"))
	require.Equal(t, []uint32{151644, 872, 198, 151645, 151645, 198, 151644, 77091, 198}, got.IDs)
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		plainChat, toolChat, imageChat, `{"model":"m","prompt":"x\ud800"}`, `{"model":"m","prompt":[[1]]}`, "{\"model\":\"m\",\"prompt\":\"\xff\"}",
		`{"model":"m","messages":[{"role":"user","content":"<|im_start|>\u0000\\"}],"chat_template_kwargs":{"a":1}}`,
		`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"arguments":"{}"}}]}],"continue_final_message":true}`,
		`{"text":["a","b"],"input_ids":null}`, `{"model":"m","input":[1,2]}`, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
	} {
		for d := chat.DialectChat; d <= chat.DialectEmbeddings; d++ {
			f.Add(uint8(d), s)
		}
	}
	var models []*tokenize.Model
	for _, engine := range []render.Engine{render.VLLM, render.SGLang} {
		l, err := smallLocal(f, engine)
		require.NoError(f, err)
		m := tokenize.New(tokenize.Options{Local: l, API: engine, Trust: true})
		f.Cleanup(m.Close)
		models = append(models, m)
	}
	f.Fuzz(func(t *testing.T, dialect uint8, body string) {
		for _, m := range models {
			got, err := m.Tokens(t.Context(), chat.Dialect(dialect%uint8(chat.DialectEmbeddings+1)), body)
			if err != nil {
				return
			}
			require.Positive(t, got.Longest)
			require.GreaterOrEqual(t, got.Total, got.Longest)
			require.Equal(t, got.Certainty == tokenize.Exact, got.Reason == tokenize.ReasonNone)
		}
	})
}

// smallLocal is a tokenizer that loads at once, with Qwen's chat template.
func smallLocal(t testing.TB, engine render.Engine) (*tokenize.Local, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizetest.JSON(t, tokenizetest.Small()), 0o600))
	config, err := os.ReadFile(tokenizetest.File(t, "qwen3", "tokenizer_config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), config, 0o600))
	return tokenize.OpenLocal(dir, engine, 1<<20)
}
