package fakes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrors(t *testing.T) {
	long := strings.Repeat("word ", 200)
	user := `"messages":[{"role":"user","content":"hi"}]`
	for name, tc := range map[string]struct {
		path, body  string
		status      int
		kind, param string
	}{
		"bad json":        {chatPath, `{"model": "demo", "messages": [`, 400, "Bad Request", "body"},
		"not an object":   {chatPath, `[1]`, 400, "Bad Request", "body"},
		"empty":           {chatPath, ``, 400, "Bad Request", "body"},
		"unknown model":   {chatPath, `{"model":"nope",` + user + `}`, 404, "NotFoundError", "model"},
		"model no text":   {chatPath, `{"model":3,` + user + `}`, 400, "Bad Request", "body.model"},
		"no messages":     {chatPath, `{"model":"demo"}`, 400, "Bad Request", "body.messages"},
		"empty messages":  {chatPath, `{"messages":[ ]}`, 400, "BadRequestError", ""},
		"too long":        {chatPath, `{"messages":[{"content":"` + long + `"}],"stream":true}`, 400, "BadRequestError", "input_tokens"},
		"too long total":  {completionPath, `{"prompt":"word","max_tokens":100}`, 400, "BadRequestError", "input_tokens"},
		"too much output": {chatPath, `{` + user + `,"max_tokens":100000}`, 400, "BadRequestError", "max_tokens"},
		"no output":       {chatPath, `{` + user + `,"max_tokens":0}`, 400, "BadRequestError", "max_tokens"},
		"half a token":    {chatPath, `{` + user + `,"max_completion_tokens":1.5}`, 400, "Bad Request", "body.max_completion_tokens"},
		"n zero":          {chatPath, `{` + user + `,"n":0}`, 400, "BadRequestError", "n"},
		"n beyond blocks": {chatPath, `{` + user + `,"n":100,"max_tokens":80}`, 400, "BadRequestError", "n"},
		"no prompt":       {completionPath, `{}`, 400, "Bad Request", "body.prompt"},
		"many prompts":    {completionPath, `{"prompt":["a"` + strings.Repeat(`,"a"`, maxChoices) + `]}`, 400, "BadRequestError", "prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			bothDialects(t, func(t *testing.T, d Dialect) {
				s := start(t, Config{Dialect: d, MaxModelLen: 100, KVBlocks: 128})
				r := s.post(tc.path, tc.body)
				require.Equal(t, tc.status, r.status, r.body)
				e := object(t, r.body)
				if d == VLLM {
					e = e["error"].(map[string]any)
				} else {
					require.Equal(t, "error", e["object"])
				}
				require.Equal(t, tc.kind, e["type"])
				require.InDelta(t, tc.status, e["code"], 0)
				require.NotEmpty(t, e["message"])
				if tc.param == "" {
					require.Nil(t, e["param"])
				} else {
					require.Equal(t, tc.param, e["param"])
				}
				require.Equal(t, Failed, s.Requests()[0].Outcome)
			})
		})
	}
}

func TestMissingModelIsTheFirst(t *testing.T) {
	s := start(t, Config{Models: []string{"a", "b"}, Adapters: []Adapter{{Name: "lora", Parent: "b"}}})
	for body, want := range map[string]string{`"max_tokens":1`: "a", `"model":"b"`: "b", `"model":"lora"`: "lora", `"model":null`: "a"} {
		require.Equal(t, want, object(t, s.post(completionPath, `{"prompt":"x",`+body+`}`).body)["model"])
	}
	g := start(t, Config{Dialect: SGLang, Adapters: []Adapter{{Name: "lora"}}})
	require.Equal(t, 200, g.post(completionPath, `{"prompt":"x","model":"demo:lora"}`).status)
}

func TestOtherPathsAndMethods(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d, Name: "x"})
		r := s.get("/nope")
		require.Equal(t, 404, r.status)
		require.JSONEq(t, `{"detail":"Not Found"}`, r.body)
		require.Equal(t, "x", r.header.Get("x-fake-engine"))
		r = s.get(chatPath)
		require.Equal(t, 405, r.status)
		require.JSONEq(t, `{"detail":"Method Not Allowed"}`, r.body)
		require.Equal(t, "POST", r.header.Get("Allow"))
		require.Equal(t, 405, s.post("/health", "").status)
		require.Zero(t, s.Counters().Received)
	})
	require.Equal(t, 404, start(t, Config{}).get("/server_info").status)
	require.Equal(t, 404, start(t, Config{Dialect: SGLang}).get("/load").status)
}

func TestBodyLimit(t *testing.T) {
	s := start(t, Config{MaxModelLen: 1 << 24})
	big := `{"max_tokens":1,"prompt":"` + strings.Repeat("word ", 33<<20/5) + `"}`
	r := s.post(completionPath, big)
	require.Equal(t, 200, r.status)
	require.InDelta(t, 33<<20/5, object(t, r.body)["usage"].(map[string]any)["prompt_tokens"], 0)
	rec := s.Requests()[0]
	require.Len(t, rec.Body, RecordedBody)
	require.EqualValues(t, len(big), rec.BodyLength)

	small := start(t, Config{BodyLimit: 100})
	exact := `{"prompt":"` + strings.Repeat("x", 87) + `"}`
	require.Len(t, exact, 100)
	require.Equal(t, 200, small.post(completionPath, exact).status)
	require.Equal(t, 413, small.post(completionPath, exact+" ").status)
}

func TestDeepNestingIsRefused(t *testing.T) {
	s := start(t, Config{})
	deep := `{"messages":` + strings.Repeat("[", 2<<20) + strings.Repeat("]", 2<<20) + `}`
	require.Equal(t, 400, s.post(chatPath, deep).status)
	// Below the size that json.Valid takes over, nesting is walked without harm.
	require.NotEqual(t, 0, s.post(chatPath, `{"messages":[`+strings.Repeat("[", 400<<10)+strings.Repeat("]", 400<<10)+`]}`).status)
}

func TestRankHeader(t *testing.T) {
	header := "X-Data-Parallel-Rank"
	for _, tc := range []struct {
		dialect Dialect
		value   string
		status  int
	}{
		{VLLM, "1", 200},
		{VLLM, "2", 400},
		{VLLM, "-1", 400},
		{VLLM, "x", 200},
		{SGLang, "1", 200},
		{SGLang, "2", 400},
		{SGLang, "x", 400},
	} {
		s := start(t, Config{Dialect: tc.dialect, Ranks: 2})
		require.Equal(t, tc.status, s.post(chatPath, hello, header, tc.value).status, fmt.Sprint(tc))
	}
}

func TestKindOf(t *testing.T) {
	for status, want := range map[int]string{
		400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError", 503: "ServiceUnavailableError",
		http.StatusTooManyRequests: "TooManyRequestsError", 599: "UnknownError",
	} {
		require.Equal(t, want, kindOf(status))
	}
}
