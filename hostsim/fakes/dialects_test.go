package fakes

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDialects(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, Models: []string{"demo", "second"}})
	for _, tt := range []struct {
		path, body    string
		prompt, total int
	}{
		{"/generate", `{"text":"one two six","sampling_params":{"max_new_tokens":2}}`, 3, 2},
		{"/generate", `{"input_ids":[1,2,3,4]}`, 4, 4},
		{"/v1/responses", `{"model":"second","input":"one two","max_output_tokens":3}`, 2, 3},
		{"/v1/responses", `{"model":"demo","input":[{"role":"user"}]}`, 5, 4},
		{"/v1/messages", `{"model":"demo","messages":[{}],"max_tokens":1}`, 1, 1},
		{"/v1/embeddings", `{"model":"demo","input":["a","b"]}`, 2, 0},
	} {
		r := s.post(tt.path, tt.body)
		require.Equal(t, http.StatusOK, r.status, r.body)
		object(t, r.body)
		seen := s.Requests()
		last := seen[len(seen)-1]
		require.Equal(t, tt.body, string(last.Body))
		require.Equal(t, Completed, last.Outcome)
		require.Equal(t, []int{tt.prompt, tt.total}, []int{last.PromptTokens, last.OutputTokens}, tt.body)
	}
	generated := object(t, s.post("/generate", `{"text":"a","sampling_params":{"max_new_tokens":2}}`).body)
	require.Len(t, generated["output_ids"], 2)
	require.Len(t, object(t, s.post("/v1/embeddings", `{"model":"demo","input":[[1],[2]]}`).body)["data"], 2)
}

func TestDialects_refuse(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, Models: []string{"demo"}})
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/generate", `[]`, 400},
		{"/generate", `{"text":null}`, 400},
		{"/generate", `{"text":"t","sampling_params":{"max_new_tokens":0}}`, 400},
		{"/v1/responses", `{"model":"other","input":"i"}`, 404},
		{"/v1/messages", `{"model":"demo"}`, 400},
		{"/v1/embeddings", `{`, 400},
	} {
		require.Equal(t, tt.status, s.post(tt.path, tt.body).status, tt.body)
	}
	s.Status(http.StatusServiceUnavailable, 0)
	require.Equal(t, http.StatusServiceUnavailable, s.post("/generate", `{"text":"t"}`).status)
	vllm := start(t, Config{Dialect: VLLM})
	require.Equal(t, http.StatusNotFound, vllm.post("/generate", `{"text":"t"}`).status)
}
