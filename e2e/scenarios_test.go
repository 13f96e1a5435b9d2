package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scenario is one exchange that every host must carry in the same way.
type scenario struct {
	name    string
	request string // the bytes that the client sends
	engine  script // nil is plainAnswer
	leaves  bool   // the client goes away when the answer has begun
}

func scenarios() []scenario {
	chat := func(body string, lines ...string) string { return rawPost("/v1/chat/completions", body, lines...) }
	good := `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	chunked := rawHead("/v1/chat/completions", "Transfer-Encoding: chunked")
	return []scenario{
		{name: "chat", request: chat(good)},
		{name: "completions", request: rawPost("/v1/completions", `{"model":"m","prompt":"a b c"}`)},
		{name: "query string", request: rawPost("/v1/chat/completions?a=b%20c&d", good)},
		{name: "headers of all kinds", request: chat(good, "User-Agent: parity/1.0", "X-Twice: one", "X-Twice: two", "X-Empty:", "Authorization: Bearer abc", "Accept: */*")},
		{name: "routing headers", request: chat(good, "X-Pointsman-Endpoint: 127.0.0.1:1", "X-Pointsman-Prefill: 127.0.0.1:1", "X-Pointsman-Mode: pd", "X-Pointsman-Model: other")},
		{name: "chunked", request: chunked + rawChunks([]string{good[:10], good[10:]})},
		{name: "chunked with trailers", request: chunked + rawChunks([]string{good}, "X-Checksum: abc")},
		{name: "large body", request: chat(`{"model":"m","prompt":"` + strings.Repeat("0123456789", 100_000) + `"}`)},
		{name: "streamed answer", request: chat(good), engine: streamedAnswer},
		{name: "answer without a body", request: chat(good), engine: func(w http.ResponseWriter, _ arrival) { w.WriteHeader(http.StatusNoContent) }},
		{name: "engine says 400", request: chat(good), engine: errorAnswer(400)},
		{name: "engine says 429", request: chat(good), engine: errorAnswer(429)},
		{name: "engine says 500", request: chat(good), engine: errorAnswer(500)},
		{name: "engine says 503", request: chat(good), engine: errorAnswer(503)},
		{name: "unknown model", request: chat(`{"model":"nobody"}`)},
		{name: "not JSON", request: chat(`{"model":`)},
		{name: "model twice", request: chat(`{"model":"m","model":"m"}`)},
		{name: "no body", request: chat("")},
		{name: "gzip", request: chat(good, "Content-Encoding: gzip")},
		{name: "too long for the model", request: chat(`{"model":"short","prompt":"` + strings.Repeat("word ", 400) + `"}`)},
		{name: "announced too large", request: rawHead("/v1/chat/completions", "Content-Length: 40000000")},
		{name: "models", request: "GET /v1/models HTTP/1.1\r\nHost: models.example\r\n\r\n"},
	}
}

const scenarioModels = `{
	"m":     {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
	"short": {"buckets": [{"id": "all", "limits": {"max": 100}, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "round_robin"}}}}]}
}`

// streamedAnswer is a stream of three events in three chunks.
func streamedAnswer(w http.ResponseWriter, _ arrival) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 3 {
		fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
		w.(http.Flusher).Flush()
	}
}

// errorAnswer is an engine's own error, with a header and a body of its own.
func errorAnswer(status int) script {
	return func(w http.ResponseWriter, _ arrival) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Engine-Says", "no")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"object":"error", "code":%d}`, status)
	}
}

// sight is all that can be seen of an exchange.
type sight struct {
	Status    int
	Reply     []string // header of the answer
	Body      string
	Request   string // line and body that reached an engine
	Header    []string
	Callbacks []string       // with the host functions that each called
	Calls     map[string]int // of the state service, by path; syncs stay apart
	Aborts    int            // that reached an engine
}

// madeUp is a request's name that the filter draws for its engine.
var madeUp = regexp.MustCompile(`"rid":"[0-9a-f]{32}"`)

// ownToReply are header fields of answers whose values differ by host or moment:
// the server's name and date, and the milliseconds that the engine took.
func ownToReply() []string { return []string{"date", "server", "x-envoy-upstream-service-time"} }

// ownToRequest are the fields that a proxy adds by itself on the way to an
// engine, other than the request's id they come from settings of its listener.
func ownToRequest() []string {
	return []string{"x-request-id", "x-forwarded-proto", "x-forwarded-for", "x-envoy-internal", "x-envoy-external-address", "x-envoy-expected-rq-timeout-ms"}
}

// act plays a scenario and writes down what is seen of it.
func (s *stage) act(sc scenario) sight {
	s.t.Helper()
	answer := sc.engine
	if answer == nil {
		answer = plainAnswer
	}
	s.play(answer)
	s.arrivals()
	s.eventually(s.idle, "an earlier stream does not end")
	s.traced.mark()
	made, aborts := s.syncs.made(), s.aborts()
	a := s.carry(sc)
	seen := sight{Status: a.status, Reply: fields(a.header, ownToReply()...), Body: sumOf(a.body), Calls: map[string]int{}}
	for _, r := range s.arrivals() {
		r.body = madeUp.ReplaceAllString(r.body, `"rid":"drawn"`)
		seen.Request += fmt.Sprintf("%s: %s %s host=%s length=%d %s", r.engine, r.method, r.target, r.host, r.length, r.sum())
		seen.Header = append(seen.Header, fields(r.header, ownToRequest()...)...)
	}
	s.eventually(func() bool { return count(s.traced, "proxy_on_log") > 0 && ended(s.traced) }, "the stream does not end")
	for _, c := range streamCrossings(s.traced) {
		seen.Callbacks = append(seen.Callbacks, c.String())
	}
	for path, n := range s.syncs.made() {
		if n > made[path] {
			seen.Calls[path] = n - made[path]
		}
	}
	if sc.leaves {
		s.eventually(func() bool { return s.aborts() > aborts }, "no engine is told that the client has left")
	}
	seen.Aborts = s.aborts() - aborts
	return seen
}

// carry sends a scenario's request and reads what the client waits for.
func (s *stage) carry(sc scenario) answer {
	s.t.Helper()
	if !sc.leaves {
		return s.raw(sc.request)
	}
	c := s.dial()
	c.write(sc.request)
	resp, err := c.head()
	require.NoError(s.t, err)
	c.reset()
	return answer{status: resp.StatusCode, header: resp.Header}
}

// aborts are the calls to end a request that engines have had.
func (s *stage) aborts() (n int) {
	for _, e := range s.fleet.Engines() {
		n += len(e.Aborts())
	}
	return n
}

// The same bytes from a client lead to the same answer, the same request at the
// engine, the same callbacks with the same host calls, and the same calls of the
// state service on every host.
func TestScenarios(t *testing.T) {
	want := map[string]sight{}
	var calls []string
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			s := newStage(t, h, stageSetup{watched: 2, manager: withTrailers(), setup: setup{filter: scenarioModels, extra: `"seed":5,`, seed: 5}})
			s.playAll(scenarios(), want)
			if calls == nil {
				calls = s.syncs.kinds()
			}
			require.Equal(t, calls, s.syncs.kinds())
			require.Len(t, calls, 2, "one way to sync, and one to observe for the model whose length bound needs tokens")
			s.awaitInflight(0)
		})
	}
}

// playAll plays scenarios in order. What the first host shows of each is wanted of
// all others.
func (s *stage) playAll(list []scenario, want map[string]sight) {
	for _, sc := range list {
		s.t.(*testing.T).Run(sc.name, func(t *testing.T) {
			got := s.in(t).act(sc)
			if _, ok := want[sc.name]; !ok {
				want[sc.name] = got
			}
			require.Equal(t, want[sc.name], got)
		})
	}
}

// withTrailers lets Envoy pass trailers of HTTP/1 requests on, which it drops by
// default.
func withTrailers() map[string]any {
	return map[string]any{"http_protocol_options": map[string]any{"enable_trailers": true}}
}

// in is the stage for a test within the test.
func (s *stage) in(t *testing.T) *stage {
	t.Helper()
	r := *s.rig
	r.t = t
	inner := *s
	inner.rig = &r
	return &inner
}
