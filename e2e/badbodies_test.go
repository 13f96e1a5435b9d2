package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outcome is what a client gets: a status, and the router's code where the
// router answers. Status 0 is a closed connection without an answer.
type outcome struct {
	status int
	code   string
}

// badCase is a request that is wrong, or looks it. The table of e2e/README.md
// lists the outcomes.
type badCase struct {
	name    string
	send    string
	finish  bool     // the client says that nothing more follows
	want    outcome  // of every host
	envoy   *outcome // where Envoy's differs
	hostsim *outcome // where hostsim's differs
	routed  string   // the body that must reach an engine, if one must
}

func badBodies() []badCase {
	post := func(body string, lines ...string) string { return rawPost("/v1/chat/completions", body, lines...) }
	refused, served := outcome{400, "bad_request"}, outcome{200, ""}
	keys := manyKeys(100_000)
	utf8 := "{\"model\":\"m\",\"prompt\":\"\xff\xfe\xc3(\"}"
	short := smallChat[:10]
	return []badCase{
		{name: "empty", send: post(""), want: refused},
		{name: "empty in chunks", send: rawHead("/v1/chat/completions", "Transfer-Encoding: chunked") + rawChunks(nil), want: refused},
		{name: "{}", send: post("{}"), want: refused},
		{name: "[]", send: post("[]"), want: refused},
		{name: "null", send: post("null"), want: refused},
		{name: "a number", send: post("1"), want: refused},
		{name: "a string", send: post(`"m"`), want: refused},
		{name: "white space", send: post(" \r\n\t "), want: refused},
		{name: "100,000 keys", send: post(keys), want: served, routed: keys},
		{name: "10,000 deep", send: post(deep(10_000)), want: refused},
		{name: "511 deep", send: post(deep(511)), want: served, routed: deep(511)},
		{name: "a megabyte of brackets", send: post(`{"model":"m","x":` + strings.Repeat("[", 1<<20-20)), want: refused},
		{name: "invalid UTF-8", send: post(utf8), want: served, routed: utf8},
		{name: "invalid UTF-8 in the model", send: post("{\"model\":\"\xff\xfe\"}"), want: outcome{404, "model_not_found"}},
		{name: "zero byte in a string", send: post("{\"model\":\"m\x00\"}"), want: refused},
		{name: "BOM", send: post("\xef\xbb\xbf" + smallChat), want: refused},
		{name: "UTF-16", send: post("{\x00}\x00"), want: refused},
		{name: "trailing garbage", send: post(smallChat + " garbage"), want: refused},
		{name: "two documents", send: post(smallChat + smallChat), want: refused},
		{name: "trailing comma", send: post(`{"model":"m",}`), want: refused},
		{name: "NaN", send: post(`{"model":"m","top_p":NaN}`), want: refused},
		{name: "length too short", send: rawHead("/v1/chat/completions", "Content-Length: 10") + smallChat, want: refused},
		{name: "length too long", send: rawHead("/v1/chat/completions", "Content-Length: 100") + smallChat, finish: true, want: outcome{}},
		{name: "length too long by far", send: rawHead("/v1/chat/completions", "Content-Length: 33554433") + smallChat, want: outcome{413, "payload_too_large"}},
		{name: "length is no number", send: rawHead("/v1/chat/completions", "Content-Length: ten") + short, want: outcome{400, ""}},
		{name: "two lengths", send: rawHead("/v1/chat/completions", "Content-Length: 10", "Content-Length: 11") + short, want: outcome{400, ""}},
		{name: "bad chunk", send: rawHead("/v1/chat/completions", "Transfer-Encoding: chunked") + "zz\r\n" + smallChat, want: outcome{400, ""}, hostsim: &outcome{}},
		{name: "chunks break off", send: rawHead("/v1/chat/completions", "Transfer-Encoding: chunked") + "1b\r\n{\"model\"", finish: true, want: outcome{}},
		{name: "chunked with trailers", send: rawHead("/v1/chat/completions", "Transfer-Encoding: chunked", "Trailer: X-Sum") + rawChunks([]string{smallChat}, "X-Sum: 1"), want: served, routed: smallChat},
		{name: "gzip", send: post("\x1f\x8b\x08", "Content-Encoding: gzip"), want: outcome{415, "unsupported_content_encoding"}},
		{name: "two encodings", send: post(smallChat, "Content-Encoding: identity, br"), want: outcome{415, "unsupported_content_encoding"}},
		{name: "1,100 headers", send: post(smallChat, fillers(1100)...), want: served, routed: smallChat, envoy: &outcome{431, ""}},
		{name: "a header of 60,000 bytes", send: post(smallChat, "X-Long: "+strings.Repeat("a", 60_000)), want: served, routed: smallChat},
		{name: "a header of 60 KiB", send: post(smallChat, "X-Long: "+strings.Repeat("a", 60<<10)), want: served, routed: smallChat, envoy: &outcome{431, ""}},
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"messages":[]`)
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	b.WriteString(`,"model":"m"}`)
	return b.String()
}

func deep(n int) string {
	return `{"model":"m","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

func fillers(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("X-Filler-%d: v", i))
	}
	return lines
}

// Every bad request has one outcome, leaves nothing in flight, and does not
// disturb the next request.
func TestBadBodies(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 2, quiet: true, setup: setup{filter: allModels}})
			for _, tc := range badBodies() {
				t.Run(tc.name, func(t *testing.T) {
					inner := s.in(t)
					inner.arrivals()
					inner.play(plainAnswer)
					tc.check(inner)
					require.Equal(t, http.StatusOK, inner.post(smallChat).status, "the next request\n%s", s.log())
					inner.awaitInflight(0)
				})
			}
			require.NotContains(t, s.log(), "failed:", "a VM failed")
		})
	}
}

func (tc badCase) check(s *stage) {
	s.t.Helper()
	want := tc.want
	switch {
	case tc.envoy != nil && s.envoy != nil:
		want = *tc.envoy
	case tc.hostsim != nil && s.envoy == nil:
		want = *tc.hostsim
	}
	c := s.dial()
	defer c.conn.Close()
	c.write(tc.send)
	if tc.finish {
		c.finish()
	}
	a := c.read()
	require.Equal(s.t, want, outcome{a.status, a.code()}, a.body)
	if want.code != "" {
		s.requireRefused(a, want.status, want.code)
	}
	if tc.routed == "" || want.status != http.StatusOK {
		require.Empty(s.t, s.arrivals(), "a bad request reached an engine")
		return
	}
	require.Equal(s.t, sumOf(tc.routed), s.arrival().sum())
}
