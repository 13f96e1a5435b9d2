package fakes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func bothDialects(t *testing.T, test func(t *testing.T, d Dialect)) {
	t.Helper()
	for _, d := range []Dialect{VLLM, SGLang} {
		t.Run(d.String(), func(t *testing.T) { test(t, d) })
	}
}

func keys(v any) string {
	return strings.Join(slices.Sorted(maps.Keys(v.(map[string]any))), " ")
}

func TestChatReply(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Name: "e7", Dialect: d})
		r := s.post(chatPath, hello)
		require.Equal(t, 200, r.status)
		require.Equal(t, "e7", r.header.Get("x-fake-engine"))
		require.Equal(t, "application/json", r.header.Get("Content-Type"))
		v := object(t, r.body)
		require.Equal(t, "chat.completion", v["object"])
		require.Equal(t, "demo", v["model"])
		require.Regexp(t, "^chatcmpl-[0-9a-f]{16}$", v["id"])
		c := choice(t, v)
		require.Equal(t, "length", c["finish_reason"])
		require.Equal(t, 3, countTokens(c["message"].(map[string]any)["content"].(string)))
		require.Subset(t, v["usage"], map[string]any{
			"prompt_tokens": float64(helloTokens), "completion_tokens": 3.0, "total_tokens": float64(helloTokens + 3),
		})
	})
}

// The key sets are those recorded from vLLM 0.32.0.
func TestVLLMKeys(t *testing.T) {
	s := start(t, Config{})
	v := object(t, s.post(chatPath, hello).body)
	require.Equal(t, "choices created ec_transfer_params id kv_transfer_params metrics model object prompt_logprobs prompt_text "+
		"prompt_token_ids service_tier system_fingerprint usage", keys(v))
	require.Equal(t, "finish_reason index logprobs message routed_experts stop_reason token_ids", keys(choice(t, v)))
	require.Equal(t, "annotations audio content function_call reasoning refusal role", keys(choice(t, v)["message"]))

	v = object(t, s.post(completionPath, `{"prompt":"word"}`).body)
	require.Equal(t, "choices created ec_transfer_params id kv_transfer_params metrics model object service_tier system_fingerprint usage", keys(v))
	require.Equal(t, "finish_reason index logprobs prompt_logprobs prompt_token_ids routed_experts stop_reason text token_ids", keys(choice(t, v)))

	chunks := events(t, s.post(chatPath, streamed(2, "")).body)
	require.Equal(t, "finish_reason index logprobs token_ids", strings.Replace(keys(choice(t, chunks[1])), "delta ", "", 1))
	last := chunks[len(chunks)-1]
	require.Equal(t, "delta finish_reason index logprobs stop_reason token_ids", keys(choice(t, last)))
	require.Contains(t, last, "system_fingerprint")
}

func streamed(tokens int, options string) string {
	return fmt.Sprintf(`{"model":"demo","messages":[{"role":"user","content":"hello there"}],"prompt":"hello there","max_tokens":%d,"stream":true%s}`,
		tokens, options)
}

func TestChatStream(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d})
		r := s.post(chatPath, streamed(5, ""))
		require.Equal(t, "text/event-stream; charset=utf-8", r.header.Get("Content-Type"))
		chunks := events(t, r.body)
		text, reasons := "", []any{}
		for i, c := range chunks {
			require.Equal(t, "chat.completion.chunk", c["object"])
			require.Equal(t, chunks[0]["id"], c["id"])
			require.NotContains(t, c, "usage")
			delta := choice(t, c)["delta"].(map[string]any)
			if i == 0 {
				require.Equal(t, "assistant", delta["role"])
			}
			if content, ok := delta["content"].(string); ok {
				text += content
			}
			reasons = append(reasons, choice(t, c)["finish_reason"])
		}
		whole := choice(t, object(t, s.post(chatPath, strings.Replace(streamed(5, ""), `"stream":true`, `"stream":false`, 1)).body))
		require.Equal(t, whole["message"].(map[string]any)["content"], text)
		require.Equal(t, "length", reasons[len(reasons)-1])
		require.Len(t, slices.DeleteFunc(reasons, func(r any) bool { return r == nil }), 1)
	})
}

func TestStreamUsage(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d})
		for _, path := range []string{chatPath, completionPath} {
			prompt := map[string]float64{chatPath: helloTokens, completionPath: 4}[path]
			chunks := events(t, s.post(path, streamed(4, `,"stream_options":{"include_usage":true}`)).body)
			last := chunks[len(chunks)-1]
			require.Equal(t, []any{}, last["choices"])
			require.Subset(t, last["usage"], map[string]any{"prompt_tokens": prompt, "completion_tokens": 4.0, "total_tokens": prompt + 4})
			for _, c := range chunks[:len(chunks)-1] {
				require.NotContains(t, c, "usage")
			}
			chunks = events(t, s.post(path, streamed(4, `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)).body)
			produced := 0.0
			for _, c := range chunks {
				got := c["usage"].(map[string]any)["completion_tokens"].(float64)
				require.GreaterOrEqual(t, got, produced)
				produced = got
			}
			require.Equal(t, 4.0, produced)
		}
	})
}

func TestCompletionPromptsAndChoices(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d, DefaultOutputTokens: 6})
		v := object(t, s.post(completionPath, `{"prompt":["word","two words"],"n":2}`).body)
		require.Equal(t, "text_completion", v["object"])
		require.Len(t, v["choices"], 4)
		require.Equal(t, "stop", choice(t, v)["finish_reason"])
		require.Subset(t, v["usage"], map[string]any{"prompt_tokens": 4.0, "completion_tokens": 24.0})
		indexes := map[float64]int{}
		for _, c := range events(t, s.post(completionPath, `{"prompt":[[1,2],[3]],"stream":true,"max_tokens":2}`).body) {
			indexes[choice(t, c)["index"].(float64)]++
		}
		require.Len(t, indexes, 2)
		require.Equal(t, indexes[0], indexes[1])
	})
}

func TestTokenLimits(t *testing.T) {
	s := start(t, Config{MaxModelLen: 100, DefaultOutputTokens: 40})
	for body, want := range map[string]float64{
		`{"prompt":"word"}`:                                             40,
		`{"prompt":"word","max_tokens":7}`:                              7,
		`{"prompt":"word","max_tokens":7,"max_completion_tokens":9}`:    9,
		`{"prompt":"word","max_tokens":null}`:                           40,
		`{"prompt":"` + strings.Repeat("word ", 90) + `"}`:              10,
		`{"prompt":"` + strings.Repeat("word ", 99) + `","n":1}`:        1,
		`{"prompt":"word","max_tokens":1,"max_tokens":2,"stream":null}`: 2,
	} {
		v := object(t, s.post(completionPath, body).body)
		require.Equal(t, want, v["usage"].(map[string]any)["completion_tokens"], "%.60s", body)
	}
}

func TestIDs(t *testing.T) {
	s := start(t, Config{})
	require.Equal(t, `chatcmpl-a"b`, object(t, s.post(chatPath, hello, "X-Request-Id", `a"b`).body)["id"])
	g := start(t, Config{Dialect: SGLang})
	require.Equal(t, "r-1", object(t, g.post(chatPath, strings.Replace(hello, "{", `{"rid":"r-1",`, 1)).body)["id"])

	one, two := start(t, Config{Seed: 3}), start(t, Config{Seed: 3})
	first := object(t, one.post(chatPath, hello).body)["id"]
	require.Equal(t, first, object(t, two.post(chatPath, hello).body)["id"])
	require.NotEqual(t, first, object(t, one.post(chatPath, hello).body)["id"])
}
