package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

// envoyW are the W cases that share one Envoy.
func envoyW() []struct {
	name string
	run  func(*testing.T, *stage)
} {
	return []struct {
		name string
		run  func(*testing.T, *stage)
	}{
		{"W28 canary", envoyW28}, // first: it reads the log from its beginning
		{"W03 client leaves during a callout", envoyW03},
		{"W05 body too large", envoyW05},
		{"W06 W07 resets", envoyW06},
		{"W08 own answers", envoyW08},
		{"W09 state service faults", envoyW09},
		{"W17 many headers", envoyW17},
		{"W18 host calls", envoyW18},
		{"W21 trailers", envoyW21},
	}
}

// The main W cases on real Envoys, with every call between Envoy and the module
// traced.
func TestWCases_envoy(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			s := newStage(t, host{version, version, envoytest.OverrideHost}, stageSetup{
				watched: 2, setup: setup{filter: allModels}, manager: manyHeaders(1200),
			})
			for _, w := range envoyW() {
				t.Run(w.name, func(t *testing.T) {
					inner := s.in(t)
					w.run(t, inner)
					inner.requireNothingLeft()
				})
			}
		})
	}
}

// manyHeaders raises Envoy's limit of 100 headers and lets trailers through.
func manyHeaders(n int) map[string]any {
	settings := withTrailers()
	settings["common_http_protocol_options"] = map[string]any{"idle_timeout": "3600s", "max_headers_count": n}
	return settings
}

// requireNothingLeft checks that the next request works and that nothing stays
// in flight.
func (s *stage) requireNothingLeft() {
	s.t.Helper()
	s.syncs.fail(nil)
	s.play(plainAnswer)
	require.Equal(s.t, http.StatusOK, s.post(smallChat).status, "the next request")
	s.eventually(s.idle, "a stream does not end")
	s.awaitInflight(0)
	s.arrivals()
}

// fresh forgets what was traced once all streams are over.
func (s *stage) fresh() {
	s.t.Helper()
	s.eventually(s.idle, "an earlier stream does not end")
	s.traced.mark()
}

// over waits until a stream begun since fresh is over and checks that it was
// logged once.
func (s *stage) over() {
	s.t.Helper()
	s.eventually(func() bool { return count(s.traced, "proxy_on_log") > 0 && ended(s.traced) }, "the stream does not end")
	require.Equal(s.t, 1, count(s.traced, "proxy_on_log"))
}

// counter reads one of the filter's counters from Envoy's stats.
func (s *stage) counter(name string) float64 {
	s.t.Helper()
	stats, err := s.envoy.Stats("pointsman")
	require.NoError(s.t, err)
	return stats["wasmcustom."+name]
}

func envoyW28(t *testing.T, s *stage) {
	configured := 0
	for _, c := range s.traced.crossings() {
		if c.callback != "proxy_on_configure" {
			continue
		}
		configured++
		require.NotContains(t, c.host, "proxy_http_call")
		require.NotContains(t, c.host, "proxy_define_metric")
	}
	require.Greater(t, configured, 1, "Envoy configures more often than it has workers")
}

func envoyW03(t *testing.T, s *stage) {
	s.fresh()
	waiting := make(chan struct{}, 1024)
	s.syncs.fail(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		waiting <- struct{}{}
		<-req.Context().Done()
	})
	<-waiting
	arrived := s.hang()
	c := s.dial()
	c.write(rawPost("/v1/chat/completions", smallChat))
	<-arrived
	c.reset()
	s.over()
}

// hang makes engines keep requests until their clients leave; the channel tells
// of each that has arrived.
func (s *stage) hang() <-chan struct{} {
	arrived := make(chan struct{}, 64)
	s.play(func(_ http.ResponseWriter, seen arrival) {
		arrived <- struct{}{}
		<-seen.gone
	})
	return arrived
}

func envoyW05(t *testing.T, s *stage) {
	s.fresh()
	body := string(largeBody()) + " "
	a := s.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), onlyReader{strings.NewReader(body)})
	s.requireRefused(a, http.StatusRequestEntityTooLarge, "payload_too_large")
	s.over()
	require.Empty(t, s.arrivals())
}

func envoyW06(t *testing.T, s *stage) {
	head := rawHead("/v1/chat/completions", fmt.Sprintf("Content-Length: %d", len(smallChat)))
	for _, tc := range []struct {
		name    string
		send    string
		engine  script
		replies bool // the client waits for the beginning of the answer
		charged bool
	}{
		{"after the headers", head, nil, false, false},
		{"in the body", head + smallChat[:5], nil, false, false},
		{"before the answer", head + smallChat, func(_ http.ResponseWriter, a arrival) { <-a.gone }, false, true},
		{"mid-stream", head + smallChat, endless, true, true},
		{"engine resets before its answer", head + smallChat, func(http.ResponseWriter, arrival) { panic(http.ErrAbortHandler) }, false, true},
		{"engine resets mid-stream", head + smallChat, func(w http.ResponseWriter, _ arrival) {
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := s.in(t)
			inner.resets(tc.send, tc.engine, tc.replies, tc.charged)
		})
	}
}

// endless streams until its client has left.
func endless(w http.ResponseWriter, a arrival) {
	for {
		select {
		case <-a.gone:
			return
		default:
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// resets has a client that leaves, or an engine that does, and looks at what
// that leaves behind: one on_log and one release.
func (s *stage) resets(send string, engine script, replies, charged bool) {
	s.t.Helper()
	s.requireNothingLeft()
	released := s.settled("pointsman_charges_released_total")
	s.fresh()
	if engine != nil {
		s.play(engine)
	}
	c := s.dial()
	c.write(send)
	s.eventually(func() bool { return count(s.traced, "proxy_on_request_headers") == 1 }, "the request does not arrive")
	switch {
	case replies:
		_, err := c.head()
		require.NoError(s.t, err)
	case charged:
		s.eventually(func() bool { return len(s.engines[0].peek())+len(s.engines[1].peek()) > 0 }, "no engine is asked")
	}
	c.reset()
	s.over()
	if charged {
		released++
	}
	s.eventually(func() bool { return s.counter("pointsman_charges_released_total") == released }, "released %v times", released)
	s.awaitInflight(0)
}

// settled reads a counter when two ticks have passed, so that all that happened
// is in it.
func (s *stage) settled(name string) float64 {
	s.t.Helper()
	value := s.counter(name)
	before := count(s.traced, "proxy_on_tick")
	s.eventually(func() bool { return count(s.traced, "proxy_on_tick") >= before+4 }, "no tick")
	if now := s.counter(name); now != value {
		return s.settled(name)
	}
	return value
}

func envoyW08(t *testing.T, s *stage) {
	s.fresh()
	for range 10 {
		require.Equal(t, http.StatusNotFound, s.post(`{"model":"nobody"}`).status)
	}
	s.eventually(s.idle, "a stream does not end")
	require.Equal(t, 10, count(s.traced, "proxy_on_response_headers"), "own answers pass the own callbacks")
	require.Empty(t, s.arrivals())
	for range 4 {
		require.Equal(t, http.StatusOK, s.post(smallChat).status, "a breaker is open")
	}
}

func envoyW09(t *testing.T, s *stage) {
	for name, fault := range map[string]http.HandlerFunc{
		"503":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) },
		"garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\xff\xff\xff garbage") },
		"reset":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"no reply": func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) { s.in(t).outage(fault) })
	}
}

// outage puts a fault in the place of the state service: two contexts log it
// once each, routing goes on, and all is well again afterwards.
func (s *stage) outage(fault http.HandlerFunc) {
	s.t.Helper()
	lines := func(text string) int { return strings.Count(s.log(), text) }
	down, up := lines("cannot be reached: "), lines("answers again")
	s.syncs.fail(fault)
	s.eventually(func() bool { return lines("cannot be reached: ") > down }, "the outage is not seen")
	for range 10 {
		require.Equal(s.t, http.StatusOK, s.post(smallChat).status)
	}
	before := s.syncs.count()
	s.eventually(func() bool { return s.syncs.count() >= before+3 }, "the service is not asked again")
	contexts := lines("cannot be reached: ") - down
	require.LessOrEqual(s.t, contexts, 2*2, "an outage is logged more than once by a context")
	s.syncs.fail(nil)
	s.eventually(func() bool { return lines("answers again") > up }, "the filter does not return")
}

func envoyW17(t *testing.T, s *stage) {
	s.fresh()
	var lines []string
	for i := range 1100 {
		lines = append(lines, fmt.Sprintf("X-Filler-%d: v", i))
	}
	require.Equal(t, http.StatusOK, s.raw(rawPost("/v1/chat/completions", smallChat, lines...)).status)
	seen := s.arrival()
	for i := range 1100 {
		require.Equal(t, "v", seen.header.Get(fmt.Sprintf("X-Filler-%d", i)))
	}
}

func envoyW18(t *testing.T, s *stage) {
	s.fresh()
	s.play(func(w http.ResponseWriter, _ arrival) {
		for range 200 {
			_, _ = io.WriteString(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	require.Equal(t, http.StatusOK, s.raw(rawPost("/v1/chat/completions", smallChat)).status)
	s.over()
	require.Equal(t, 1, count(s.traced, "proxy_remove_header_map_value")+count(s.traced, "proxy_replace_header_map_value"))
	require.Zero(t, count(s.traced, "proxy_on_response_body"), "a streamed chunk calls the filter")
}

func envoyW21(t *testing.T, s *stage) {
	s.fresh()
	text := rawHead("/v1/chat/completions", "Transfer-Encoding: chunked") + rawChunks([]string{smallChat[:7], smallChat[7:]}, "X-Checksum: 1")
	require.Equal(t, http.StatusOK, s.raw(text).status)
	s.over()
	require.Equal(t, 1, count(s.traced, "proxy_on_request_trailers"))
	require.Equal(t, sumOf(smallChat), s.arrival().sum())
}
