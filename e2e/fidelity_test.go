package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oddBodies are valid bodies that a proxy which decodes and encodes them again
// would change.
func oddBodies() map[string]string {
	return map[string]string{
		"spacing":              " {\r\n\t\"model\" :\"m\" ,\n  \"messages\":[ ]  }\n\n ",
		"order and unknowns":   `{"priority":-3,"zzz":{"b":1,"a":2},"model":"m","kv_transfer_params":{"do_remote_decode":true,"remote_engine_id":null},"custom":[1,2,{}]}`,
		"duplicate unknowns":   `{"model":"m","x":1,"x":2,"x":{"x":3}}`,
		"unicode escapes":      `{"model":"m","prompt":"\u0041\ud83d\ude00 \u00e9 \/ \b\f"}`,
		"escaped model":        `{"mod\u0065l":"\u006d","messages":[]}`,
		"raw unicode":          "{\"model\":\"m\",\"prompt\":\"é 😀 \u2028\u2029\"}",
		"big integers":         `{"model":"m","seed":123456789012345678901234567890,"n":9007199254740993}`,
		"numbers as written":   `{"model":"m","temperature":1.0,"top_p":1e0,"x":-0,"y":0.10000,"z":1E+2}`,
		"empty key":            `{"":"","model":"m"}`,
		"deep":                 `{"model":"m","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"not quite a P/D body": `{"model":"m","bootstrap":1,"rid":"abc","session_id":"s"}`,
	}
}

// oddHeaders are header lines that must come out as they went in. Envoy writes
// names in lower case, which HTTP does not tell apart.
func oddHeaders() []string {
	return []string{
		"User-Agent: odd/1.0 (a; b)", "X-Custom: a,b, c ;d", "X-Twice: one", "X-Twice: two", "X-Empty:", "X-Session-ID: s-1",
		"Baggage: k=v;p, k2=v2", "Authorization: Bearer abc.def==", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"Cookie: a=1; b=2", "Accept: text/event-stream", "Accept-Encoding: gzip", "X-Sgl-Routing-Key: k", "X-Latin: caf\xe9",
		"X-Data-Parallel-Rank: 3", "Api-Key: 123", "X-Router-Error-Code: mine",
	}
}

// fidelityHosts are the newest and the oldest Envoy and hostsim.
func fidelityHosts(t *testing.T, run func(*testing.T, *stage)) {
	t.Helper()
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			run(t, newStage(t, h, stageSetup{watched: 2, quiet: true, setup: setup{filter: allModels}}))
		})
	}
}

// What reaches the engine is what the client sent: every byte of the body, and
// every header but the router's own and what any proxy adds.
func TestFidelity_requests(t *testing.T) {
	fidelityHosts(t, func(t *testing.T, s *stage) {
		for name, body := range oddBodies() {
			t.Run(name, func(t *testing.T) {
				inner := s.in(t)
				inner.arrivals()
				require.Equal(t, http.StatusOK, inner.raw(rawPost("/v1/chat/completions", body, oddHeaders()...)).status)
				seen := inner.arrival()
				require.Equal(t, body, seen.body)
				require.Equal(t, int64(len(body)), seen.length)
				require.Equal(t, sentFields(len(body)), fields(seen.header, ownToRequest()...))
				require.Equal(t, "models.example", seen.host)
				require.Equal(t, "/v1/chat/completions", seen.target)
			})
		}
		t.Run("chunked", func(t *testing.T) {
			inner := s.in(t)
			inner.arrivals()
			body := oddBodies()["spacing"]
			text := rawHead("/v1/chat/completions?q=%2F&q=", "Transfer-Encoding: chunked") + rawChunks([]string{body[:3], body[3:9], body[9:]})
			require.Equal(t, http.StatusOK, inner.raw(text).status)
			seen := inner.arrival()
			require.Equal(t, body, seen.body)
			require.Equal(t, "/v1/chat/completions?q=%2F&q=", seen.target)
		})
		t.Run("32 MiB", func(t *testing.T) {
			inner := s.in(t)
			inner.arrivals()
			body := string(largeBody())
			require.Equal(t, http.StatusOK, inner.raw(rawPost("/v1/chat/completions", body)).status)
			require.Equal(t, sumOf(body), inner.arrival().sum())
		})
	})
}

// sentFields are the fields of a request with the odd headers.
func sentFields(length int) []string {
	h := http.Header{"Content-Type": {"application/json"}, "Content-Length": {fmt.Sprint(length)}}
	for _, line := range oddHeaders() {
		name, value, _ := strings.Cut(line, ":")
		h.Add(name, strings.TrimPrefix(value, " "))
	}
	return fields(h)
}

// engineAnswers are answers of every kind, streamed and not.
func engineAnswers() map[string]script {
	answers := map[string]script{
		"whole": func(w http.ResponseWriter, _ arrival) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header()["X-Twice"] = []string{"one", "two"}
			w.Header()["Set-Cookie"] = []string{"a=1; Path=/", "b=2"}
			_, _ = io.WriteString(w, " {\"a\" : 1.0, \"b\":\"\\u0041\"}\n")
		},
		"streamed": func(w http.ResponseWriter, _ arrival) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			w.Header().Set("Cache-Control", "no-cache")
			for i := range 50 {
				fmt.Fprintf(w, "data: {\"n\":%d, \"text\":\"é\"}\r\n\r\n: comment\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		},
		"empty":   func(w http.ResponseWriter, _ arrival) { w.Header().Set("Content-Length", "0") },
		"no body": func(w http.ResponseWriter, _ arrival) { w.WriteHeader(http.StatusNoContent) },
		"binary":  func(w http.ResponseWriter, _ arrival) { _, _ = io.WriteString(w, "\x00\xff\xfe\x1f\x8b") },
		"encoded": func(w http.ResponseWriter, _ arrival) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b not really")
		},
		"code 2xx":  func(w http.ResponseWriter, _ arrival) { w.WriteHeader(299) },
		"long line": func(w http.ResponseWriter, _ arrival) { _, _ = io.WriteString(w, strings.Repeat("x", 3<<20)) },
	}
	for _, status := range []int{400, 401, 404, 408, 413, 422, 429, 499, 500, 501, 502, 503, 504, 529} {
		answers[fmt.Sprint("error ", status)] = errorAnswer(status)
	}
	return answers
}

// What reaches the client is what the engine sent: status, headers and bytes,
// the errors of engines included.
func TestFidelity_answers(t *testing.T) {
	fidelityHosts(t, func(t *testing.T, s *stage) {
		for name, answer := range engineAnswers() {
			t.Run(name, func(t *testing.T) {
				inner := s.in(t)
				inner.play(answer)
				got := inner.raw(rawPost("/v1/chat/completions", smallChat))
				want := inner.direct().raw(rawPost("/v1/chat/completions", smallChat))
				require.Equal(t, want.status, got.status)
				require.Equal(t, want.body, got.body)
				without := append(ownToReply(), "x-fake-engine")
				require.Equal(t, fields(want.header, without...), fields(got.header, without...))
				inner.play(plainAnswer)
				for range inner.engines { // closes what errors have opened of a breaker
					require.Equal(t, http.StatusOK, inner.post(smallChat).status)
				}
			})
		}
		s.awaitInflight(0)
	})
}

// direct is the same client without the proxy.
func (s *stage) direct() *rig {
	r := *s.rig
	r.url = s.engines[0].server.URL
	return &r
}
