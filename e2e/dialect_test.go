package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// twoLengths sends short prompts to one bucket and long ones to another.
const twoLengths = `{"m": {"buckets": [
	{"id": "short", "limits": {"max": 100}, "max_context_tokens": 1000, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "random"}}}},
	{"id": "long", "limits": {"min": 101}, "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "random"}}}}]}}`

// Every dialect's prompt and output budget choose the bucket; token ids count
// exactly, although they take many bytes.
func TestDialects_choose_buckets(t *testing.T) {
	ids := func(n int) string { return "[" + strings.Repeat("1234567,", n-1) + "1]" }
	words := strings.Repeat("word ", 200)
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			engines := fakes.Replicate(fakes.Config{Dialect: fakes.SGLang, Models: []string{"m"}, MaxModelLen: 1 << 20}, 2)
			r := newRig(t, h, setup{engines: engines, filter: twoLengths, extra: allPaths()})
			for _, tc := range []struct {
				path, body string
				engine     int
			}{
				{"/generate", `{"input_ids":` + ids(100) + `}`, 0},
				{"/generate", `{"input_ids":` + ids(101) + `}`, 1},
				{"/generate", `{"input_ids":[` + ids(60) + `,` + ids(61) + `]}`, 0},
				{"/generate", `{"text":"short","sampling_params":{"max_new_tokens":100}}`, 0},
				{"/generate", `{"text":"short","sampling_params":{"max_new_tokens":1000}}`, -1},
				{"/generate", `{"text":"` + words + `"}`, 1},
				{"/v1/completions", `{"model":"m","max_tokens":1,"prompt":` + ids(100) + `}`, 0},
				{"/v1/completions", `{"model":"m","max_tokens":1,"prompt":` + ids(101) + `}`, 1},
				{"/v1/responses", `{"model":"m","input":"short","instructions":"be kind","max_output_tokens":9}`, 0},
				{"/v1/responses", `{"model":"m","input":[{"role":"user","content":"` + words + `"}]}`, 1},
				{"/v1/messages", `{"model":"m","system":"s","messages":[{"role":"user","content":"short"}],"max_tokens":5}`, 0},
				{"/v1/messages", `{"model":"m","system":"` + words + `","messages":[{"role":"user","content":"short"}],"max_tokens":5}`, 1},
				{"/v1/embeddings", `{"model":"m","input":` + ids(100) + `}`, 0},
				{"/v1/embeddings", `{"model":"m","input":"` + words + `"}`, 1},
			} {
				a := r.do(http.MethodPost, tc.path, jsonHeader(), strings.NewReader(tc.body))
				if tc.engine < 0 {
					r.requireRefused(a, http.StatusBadRequest, "bad_request")
					continue
				}
				require.Equal(t, http.StatusOK, a.status, "%s %.200s: %s", tc.path, tc.body, a.body)
				require.True(t, json.Valid([]byte(a.body)))
				require.Equal(t, r.engine(tc.engine).Name(), a.engine(), "%s %.200s", tc.path, tc.body)
			}
			r.awaitInflight(0)
		})
	}
}

// Paths that are not opted in pass the router by.
func TestDialects_are_opted_in(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 1, quiet: true, setup: setup{filter: governedModels(strictSampling)}})
			for _, path := range []string{"/generate", "/v1/responses", "/v1/messages", "/v1/embeddings"} {
				a := s.do(http.MethodPost, path, jsonHeader(), strings.NewReader(`not JSON`))
				require.NotEqual(t, http.StatusBadRequest, a.status)
				require.Empty(t, a.code())
				for _, seen := range s.arrivals() {
					require.Equal(t, "not JSON", seen.body)
				}
			}
		})
	}
}

// A body that breaks its dialect is refused on every path.
func TestDialects_refuse(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 1, quiet: true, setup: setup{filter: allModels, extra: allPaths()}})
			for _, tc := range []struct{ path, body string }{
				{"/generate", `[]`},
				{"/generate", `{"sampling_params":7}`},
				{"/generate", `{"sampling_params":{"max_new_tokens":1,"max_new_tokens":2}}`},
				{"/generate", `{"sampling_params":{"max_new_tokens":"many"}}`},
				{"/v1/responses", `{"input":"no model"}`},
				{"/v1/responses", `{"model":"m","max_output_tokens":-1}`},
				{"/v1/messages", `{"model":"m","max_tokens":1.5}`},
				{"/v1/embeddings", `{"model":"m","model":"m"}`},
				{"/v1/embeddings", `{"model":"m"`},
			} {
				s.requireRefused(s.do(http.MethodPost, tc.path, jsonHeader(), strings.NewReader(tc.body)), http.StatusBadRequest, "bad_request")
			}
			require.Empty(t, s.arrivals())
		})
	}
}
