package e2e

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// marker stands in every key of this test, so that one look finds any of them.
const marker = "s3cr3t"

// twoScopes have names that a careless digest would take for parts of one another.
const twoScopes = `{
	"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]},
	"m/all": {"buckets": [{"id": "plain", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]},
	"r": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky"}}}}]}
}`

// Every key a client can think of has the outcome that statesvc/server/README.md
// says, and none is found in a log or a metric.
func TestSessions_bad_keys(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			engines := fakes.Replicate(fakes.Config{Models: []string{"m", "m/all", "r"}}, 4)
			r := newRig(t, h, setup{engines: engines, filter: twoScopes, noState: true, state: patient})
			log := &syncBuilder{}
			r.state.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r.state.start()
			r.awaitModels()
			bound := 0
			t.Run("bound as one key", func(t *testing.T) { bound = wholeKeys(t, r, bound) })
			t.Run("no key", func(t *testing.T) { noKeys(t, r, bound) })
			t.Run("too long", func(t *testing.T) { bound = longKeys(t, r, bound) })
			t.Run("scopes apart", func(t *testing.T) { bound = scopesApart(t, r, bound) })
			t.Run("nothing shows", func(t *testing.T) { nothingShows(t, r, log) })
		})
	}
}

// keyed sends a raw chat with header lines and gives the engine.
func (r *rig) keyed(t *testing.T, model string, lines ...string) string {
	t.Helper()
	a := r.raw(rawPost("/v1/chat/completions", chatBody(model, 50), append(lines, "Connection: close")...))
	require.Equal(t, http.StatusOK, a.status, "%.100q: %s", lines, a.body)
	return a.engine()
}

// bindings checks how many the state service holds: a placement stands before its
// request is answered.
func (r *rig) bindings(t *testing.T, want int) {
	t.Helper()
	require.Equal(t, want, r.state.metric("pointsman_state_bindings"))
}

// Text that means something to somebody is one key here, and different text is
// another one.
func wholeKeys(t *testing.T, r *rig, bound int) int {
	keys := []string{
		marker, marker + "/all", marker + ":all", marker + "|plain", marker + "," + marker, marker + ", " + marker,
		marker + "%00", marker + `"`, marker + `\n`, marker + "{}", "../../" + marker, "<script>" + marker, marker + "\tx",
		"1:" + marker, "hashed:1:2" + marker, strings.Repeat(marker, 42), // 252 bytes
	}
	for _, key := range keys {
		home := r.keyed(t, "m", "X-Session-Id: "+key)
		bound++
		r.bindings(t, bound)
		require.Equal(t, home, r.keyed(t, "m", "x-session-id:   "+key+"  "), "white space around a value is none of it")
	}
	r.bindings(t, bound)

	// A header that comes twice is its values in order.
	home := r.keyed(t, "m", "X-Session-Id: one-"+marker, "X-Session-Id: two-"+marker)
	require.Equal(t, home, r.keyed(t, "m", "X-Session-Id: one-"+marker, "X-Session-Id: two-"+marker))
	bound++
	r.bindings(t, bound)
	return bound
}

// What is no visible ASCII, and nothing at all, is no session and costs no call.
func noKeys(t *testing.T, r *rig, bound int) {
	calls := r.state.metric(`pointsman_state_http_requests_total{route="observe",status="200"}`)
	for _, lines := range [][]string{
		{"X-Session-Id:"},
		{"X-Session-Id:   "},
		{"X-Session-Id: " + marker + "\xff\xfe"},
		{"X-Session-Id: \xc3\xa5" + marker},
		{"X-Session-Ids: " + marker},
		{"X-Session-Id-: " + marker},
	} {
		r.keyed(t, "m", lines...)
	}
	r.bindings(t, bound)
	require.Equal(t, calls, r.state.metric(`pointsman_state_http_requests_total{route="observe",status="200"}`))
	for _, control := range []string{"\x00", "\x01", "\x7f"} {
		a := r.raw(rawPost("/v1/chat/completions", chatBody("m", 50), "X-Session-Id: "+marker+control+"x", "Connection: close"))
		require.Equal(t, http.StatusBadRequest, a.status, "%q: %s", control, a.body)
	}
	r.bindings(t, bound)
}

// longest sends a key of n bytes and gives the status. A host may close the
// connection before it has read all of it, which loses its answer.
func (r *rig) longest(t *testing.T, n int) (status int) {
	t.Helper()
	key := strings.Repeat(marker, n/len(marker))
	r.eventually(func() bool {
		status = r.raw(rawPost("/v1/chat/completions", chatBody("m", 50), "X-Session-Id: "+key, "Connection: close")).status
		return status != 0
	}, "a key of %d bytes has no answer", n)
	return status
}

// A long key is one key, as far as a host takes it.
func longKeys(t *testing.T, r *rig, bound int) int {
	long := strings.Repeat(marker, 8000) // 48 KB
	home := r.keyed(t, "m", "X-Session-Id: "+long)
	require.Equal(t, home, r.keyed(t, "m", "X-Session-Id: "+long))
	bound++
	r.bindings(t, bound)
	r.keyed(t, "m", "X-Session-Id: "+long+"2")
	bound++
	r.bindings(t, bound)
	megabyte := r.longest(t, 1_000_000)
	if r.envoy != nil {
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, megabyte)
	} else {
		require.Equal(t, http.StatusOK, megabyte)
		bound++
	}
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, r.longest(t, 2_000_000))
	r.bindings(t, bound)
	require.Equal(t, home, r.keyed(t, "m", "X-Session-Id: "+long), "the proxy goes on")
	return bound
}

// One text under another model, bucket or kind of key is another binding.
func scopesApart(t *testing.T, r *rig, bound int) int {
	for _, tricks := range []struct{ model, header, key string }{
		{"m", "X-Session-Id", "plain" + marker},
		{"m/all", "X-Session-Id", "plain" + marker},
		{"m", "X-Session-Id", "all/plain" + marker},
		{"m/all", "X-Session-Id", "/plain" + marker},
		{"r", "X-Sgl-Routing-Key", "plain" + marker},
	} {
		home := r.keyed(t, tricks.model, tricks.header+": "+tricks.key)
		bound++
		r.bindings(t, bound)
		require.Equal(t, home, r.keyed(t, tricks.model, tricks.header+": "+tricks.key))
	}
	r.bindings(t, bound)
	return bound
}

// nothingShows looks for keys everywhere that somebody may read.
func nothingShows(t *testing.T, r *rig, log fmt.Stringer) {
	for _, path := range []string{"/metrics", "/", "/v1/workers", "/readyz?verbose"} {
		require.NotContains(t, r.state.page(path), marker, path)
	}
	require.NotContains(t, log.String(), marker, "the log of the state service")
	require.NotContains(t, r.log(), marker, "the log of the proxy and its filter")
	if r.envoy == nil {
		return
	}
	stats, err := r.envoy.Stats("")
	require.NoError(t, err)
	for name := range stats {
		require.NotContains(t, name, marker)
	}
	require.NotEmpty(t, stats)
}
