package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// routingModels are the models of TestRouting: one per rule it looks at.
const routingModels = `{
	"rr":     {"aliases": ["robin"], "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
	"p2":     {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
	"narrow": {"buckets": [{"id": "small", "limits": {"max": 100}, "groups": {"plain": {"policy": {"type": "random"}}}}]},
	"absent": {"buckets": [{"id": "all", "groups": {"plain": {"worker_ids": [], "policy": {"type": "round_robin"}}}}]}
}`

func routingEngines() []fakes.Config {
	return fakes.Replicate(fakes.Config{
		Models: []string{"rr", "robin", "p2", "narrow", "absent"}, Adapters: []fakes.Adapter{{Name: "rr-lora", Parent: "rr"}},
		MaxModelLen: 1 << 24, DefaultOutputTokens: 2, Slots: 64, DecodePerToken: time.Millisecond,
	}, 4)
}

func TestRouting(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: routingEngines(), filter: routingModels})
			for _, tc := range []struct {
				name string
				run  func(*testing.T, *rig)
			}{
				{"round robin is even", roundRobinIsEven},
				{"power of two spares a slow engine", powerOfTwoSparesSlow},
				{"aliases and adapters are routed", aliasesAndAdapters},
				{"streams arrive chunk by chunk", streamsArriveChunkByChunk},
				{"bodies up to the limit", bodiesUpToTheLimit},
				{"bad requests are refused", badRequestsAreRefused},
				{"models come from the fleet", modelsComeFromTheFleet},
				{"client-sent routing headers do nothing", clientHeadersDoNothing},
				{"other paths pass untouched", otherPathsPass},
				{"trailers and many headers", trailersAndManyHeaders},
				{"nothing stays charged", nothingStaysCharged},
				{"all engines down", allEnginesDown},
			} {
				t.Run(tc.name, func(t *testing.T) {
					r.fleet.Reset()
					inner := *r
					inner.t = t
					tc.run(t, &inner)
				})
			}
		})
	}
}

func roundRobinIsEven(t *testing.T, r *rig) {
	counts := many(400, 4, func(int) string { return r.chat("rr", 200).engine() })
	require.Equal(t, map[string]int{"engine-0": 100, "engine-1": 100, "engine-2": 100, "engine-3": 100}, counts)
}

// An even share of 200 would be 50. The slow engine holds its requests fifty
// times as long, so it is seen with more in flight in nearly every comparison.
func powerOfTwoSparesSlow(t *testing.T, r *rig) {
	r.engine(3).SlowBy(50)
	defer func() { require.NoError(t, r.engine(3).Heal()) }()
	counts := many(200, 8, func(int) string { return r.chat("p2", 200).engine() })
	require.Less(t, counts["engine-3"], 25, "%v", counts)
	for _, name := range []string{"engine-0", "engine-1", "engine-2"} {
		require.Greater(t, counts[name], 25, "%v", counts)
	}
}

func aliasesAndAdapters(t *testing.T, r *rig) {
	require.Equal(t, http.StatusOK, r.chat("robin", 10).status)
	require.Equal(t, http.StatusOK, r.chat("rr-lora", 10).status)
}

// The engine is still at work on the answer when its beginning has arrived.
func streamsArriveChunkByChunk(t *testing.T, r *rig) {
	for i := range 4 {
		r.engine(i).SlowBy(100)
	}
	defer func() {
		for i := range 4 {
			require.NoError(t, r.engine(i).Heal())
		}
	}()
	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions",
		strings.NewReader(`{"model":"rr","stream":true,"max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`))
	require.NoError(t, err)
	resp, err := r.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, resp.Header.Get("content-type"), "text/event-stream")
	engine, ok := r.fleet.Engine(resp.Header.Get("x-fake-engine"))
	require.True(t, ok)
	events, last := 0, ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		if events++; events == 2 {
			load, running := engine.Load()
			require.True(t, running)
			require.Equal(t, 1, load.Running, "the stream came in one piece")
		}
		last = data
	}
	require.NoError(t, lines.Err())
	require.Equal(t, "[DONE]", last)
	require.GreaterOrEqual(t, events, 10)
}

func bodiesUpToTheLimit(t *testing.T, r *rig) {
	const limit = 32 << 20
	head, tail := `{"model":"rr","max_tokens":1,"messages":[{"role":"user","content":"`, `"}]}`
	body := head + strings.Repeat("a", limit-len(head)-len(tail)) + tail
	require.Len(t, body, limit)
	a := r.post(body)
	require.Equal(t, http.StatusOK, a.status, a.body)
	engine, _ := r.fleet.Engine(a.engine())
	require.EqualValues(t, limit, engine.Requests()[0].BodyLength)

	r.requireRefused(r.post(body[:len(body)-1]+" }"), http.StatusRequestEntityTooLarge, "payload_too_large")
	// The same without an announced length.
	r.requireRefused(r.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), onlyReader{strings.NewReader(body + " ")}),
		http.StatusRequestEntityTooLarge, "payload_too_large")
}

func badRequestsAreRefused(t *testing.T, r *rig) {
	r.requireRefused(r.post(`{"model":"rr"`), 400, "bad_request")
	r.requireRefused(r.post(`[]`), 400, "bad_request")
	r.requireRefused(r.post(`{"messages":[]}`), 400, "bad_request")
	r.requireRefused(r.post(`{"model":"rr","model":"p2"}`), 400, "bad_request")
	r.requireRefused(r.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), nil), 400, "bad_request")
	r.requireRefused(r.post(`{"model":"rr","max_tokens":18446744073709551615}`), 400, "bad_request")
	r.requireRefused(r.post(`{"model":"no \"such\" model","messages":[]}`), 404, "model_not_found")
	r.requireRefused(r.chat("narrow", 4000), 400, "bad_request")
	r.requireRefused(r.chat("absent", 10), 503, "no_healthy_workers")
	zipped := jsonHeader()
	zipped.Set("Content-Encoding", "gzip")
	r.requireRefused(r.do(http.MethodPost, "/v1/chat/completions", zipped, strings.NewReader("x")), 415, "unsupported_content_encoding")
	require.Empty(t, received(r), "a refused request reached an engine")
}

func received(r *rig) map[string]int64 {
	counts := map[string]int64{}
	for name, n := range r.fleet.Received() {
		if n > 0 {
			counts[name] = n
		}
	}
	return counts
}

func modelsComeFromTheFleet(t *testing.T, r *rig) {
	a := r.get("/v1/models")
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.engine())
	require.JSONEq(t, `{"object":"list","data":[
		{"id":"absent","object":"model","owned_by":"pointsman"},
		{"id":"narrow","object":"model","owned_by":"pointsman"},
		{"id":"p2","object":"model","owned_by":"pointsman"},
		{"id":"robin","object":"model","owned_by":"pointsman"},
		{"id":"rr","object":"model","owned_by":"pointsman"},
		{"id":"rr-lora","object":"model","owned_by":"pointsman","parent":"rr"}]}`, a.body)
}

// routingHeaders are sent by a client that would like to choose its engine.
func routingHeaders(r *rig) http.Header {
	header := jsonHeader()
	for _, name := range []string{"X-Pointsman-Endpoint", "X-Pointsman-Prefill", "x-pointsman-mode", "x-pointsman-model"} {
		header[name] = []string{r.engine(0).Addr()}
	}
	return header
}

func clientHeadersDoNothing(t *testing.T, r *rig) {
	counts := many(40, 1, func(int) string {
		a := r.do(http.MethodPost, "/v1/chat/completions", routingHeaders(r), strings.NewReader(chatBody("rr", 10)))
		return a.engine()
	})
	require.Equal(t, map[string]int{"engine-0": 10, "engine-1": 10, "engine-2": 10, "engine-3": 10}, counts)
	for _, e := range r.fleet.Engines() {
		for _, request := range e.Requests() {
			for name := range request.Header {
				require.NotContains(t, strings.ToLower(name), "x-pointsman", "the engine saw a routing header")
			}
		}
	}
}

// Paths and methods that are not routed go on as they came, and a client-sent
// routing header steers them neither.
func otherPathsPass(t *testing.T, r *rig) {
	if r.host.version == "" && r.host.mode() == "original_dst" {
		// hostsim has one cluster for all paths; without the header it has no host.
		require.Equal(t, http.StatusServiceUnavailable, r.get("/version").status)
		return
	}
	require.Contains(t, r.get("/version").body, "version")
	require.Equal(t, http.StatusOK, r.do(http.MethodPost, "/tokenize", jsonHeader(), strings.NewReader(`{"model":"rr","prompt":"a b"}`)).status)
	dead := http.Header{"X-Pointsman-Endpoint": {"127.0.0.1:1"}}
	for range 8 {
		require.Equal(t, http.StatusOK, r.do(http.MethodGet, "/version", dead, nil).status)
	}
	if r.host.mode() == "override_host" {
		require.Equal(t, http.StatusMethodNotAllowed, r.get("/v1/chat/completions").status, "the engine's own answer")
	}
}

func trailersAndManyHeaders(t *testing.T, r *rig) {
	header := jsonHeader()
	for i := range 60 {
		header.Set(fmt.Sprintf("X-Filler-%d", i), "x")
	}
	require.Equal(t, http.StatusOK, r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("rr", 10))).status)

	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", onlyReader{strings.NewReader(chatBody("rr", 10))})
	require.NoError(t, err)
	req.Trailer = http.Header{"X-Checksum": {"1"}}
	require.Equal(t, http.StatusOK, r.send(req).status, "a chunked body that ends in trailers")
}

// The state service sees what the proxy has in flight, and sees it end.
func nothingStaysCharged(t *testing.T, r *rig) {
	for _, e := range r.fleet.Engines() {
		e.Hang(fakes.HangInference)
	}
	done := make(chan map[string]int)
	go func() { done <- many(20, 20, func(int) string { return r.chat("rr", 10).engine() }) }()
	r.awaitInflight(20)
	for _, e := range r.fleet.Engines() {
		require.NoError(t, e.Heal())
	}
	require.Equal(t, map[string]int{"engine-0": 5, "engine-1": 5, "engine-2": 5, "engine-3": 5}, <-done)
	r.awaitInflight(0)
}

// It comes last: the engines stay down.
func allEnginesDown(t *testing.T, r *rig) {
	r.fleet.StopAll()
	require.Eventually(t, func() bool {
		a := r.chat("rr", 10)
		return a.status == http.StatusServiceUnavailable && a.code() == "no_healthy_workers"
	}, 10*time.Second, 50*time.Millisecond, "%s", lazy(r.log))
	r.requireRefused(r.chat("p2", 10), 503, "no_healthy_workers")
}

// onlyReader hides a body's length, so that it is sent in chunks.
type onlyReader struct{ r *strings.Reader }

func (o onlyReader) Read(p []byte) (int, error) { return o.r.Read(p) }
