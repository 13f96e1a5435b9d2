package e2e

import (
	"net/http"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const editModels = `{
	"m":        {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
	"bound":    {"buckets": [{"id": "all", "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "session_aware"}}}}]},
	"governed": {"sampling": {"override": {"temperature": 0.6}},
	             "buckets": [{"id": "all", "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "round_robin"}}}}]}
}`

// editScenarios are sessions that are bound, bodies that something is put into,
// requests that are abandoned, and a dialect with its own fields. The engines have
// no tokenizer, so the calls are those of sessions.
func editScenarios() []scenario {
	chat := func(body string, lines ...string) string { return rawPost("/v1/chat/completions", body, lines...) }
	const (
		bound    = `{"model":"bound","messages":[{"role":"user","content":"hi"}]}`
		governed = `{"model":"governed","messages":[{"role":"user","content":"hi"}] }`
		streamed = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	)
	return []scenario{
		{name: "session begins", request: chat(bound, "X-Session-Id: s1")},
		{name: "session goes on", request: chat(bound, "X-Session-Id: s1")},
		{name: "session of another", request: chat(bound, "X-Session-Id: s2")},
		{name: "session model without a session", request: chat(bound)},
		{name: "rid is put in", request: chat(streamed), engine: streamedAnswer},
		{name: "rid of the client's own", request: chat(`{"rid":"mine",` + streamed[1:])},
		{name: "client leaves mid-stream", request: chat(streamed), engine: endless, leaves: true},
		{name: "sampling is put in", request: chat(governed)},
		{name: "sampling is put in, chunked", request: rawHead("/v1/chat/completions", "Transfer-Encoding: chunked") + rawChunks([]string{governed[:20], governed[20:]})},
		{name: "sampling is as asked", request: chat(`{"model":"governed","temperature":0.6,"messages":[]}`)},
		{name: "sampling is refused", request: chat(`{"model":"governed","temperature":1.5,"messages":[]}`)},
		{name: "generate", request: rawPost("/generate", `{"model":"governed","text":"hi","sampling_params":{"top_k":3}}`)},
		{name: "messages", request: rawPost("/v1/messages", `{"model":"m","system":"s","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`)},
		{name: "messages, broken", request: rawPost("/v1/messages", `{"model":"m","messages":7`)},
	}
}

// Calls to the state service and edits of bodies are the same on every host, and
// engines are told of the same abandoned requests.
func TestScenarios_of_calls_and_edits(t *testing.T) {
	want := map[string]sight{}
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			engines := fakes.Replicate(fakes.Config{Dialect: fakes.SGLang, Models: []string{"m", "bound", "governed"}, MaxModelLen: 1 << 20}, 2)
			s := newStage(t, h, stageSetup{watched: 2, manager: withTrailers(), setup: setup{
				engines: engines, filter: editModels, extra: `"seed":5,` + abortExtra + allPaths() + `"generate_model":"governed",`, state: patient, seed: 5,
			}})
			s.awaitRids()
			s.playAll(editScenarios(), want)
			require.Equal(t, map[string]int{wire.ObservePath: 1, wire.BindPath: 1}, want["session begins"].Calls)
			require.Equal(t, map[string]int{wire.ObservePath: 1}, want["session goes on"].Calls)
			require.Empty(t, want["session model without a session"].Calls)
			require.Equal(t, 1, want["client leaves mid-stream"].Aborts)
			require.Zero(t, want["rid is put in"].Aborts)
			require.Equal(t, http.StatusOK, want["sampling is put in"].Status)
			require.Equal(t, http.StatusBadRequest, want["sampling is refused"].Status)
			if h.version != "" { // the rig's hostsim has no cluster for other paths
				a := s.do(http.MethodGet, "/health", http.Header{"X-Pointsman-Endpoint": {"127.0.0.1:1"}}, nil)
				require.Equal(t, http.StatusOK, a.status, "a client chose where a request goes that the filter does not route")
			}
			s.awaitInflight(0)
		})
	}
}

// awaitRids waits until the filter knows of both engines that they can be told to
// end a request.
func (s *stage) awaitRids() {
	s.t.Helper()
	s.eventually(func() bool {
		s.arrivals()
		for range 2 {
			s.post(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		}
		for _, seen := range s.arrivals() {
			if !madeUp.MatchString(seen.body) {
				return false
			}
		}
		return true
	}, "requests are given no rid")
}
