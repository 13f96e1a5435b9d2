package hostsim_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

func TestProxy_originalDst(t *testing.T) {
	a, b := newEngine(t, "a", nil), newEngine(t, "b", nil)
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Clusters = []hostsim.Cluster{{
			Name: "engines", Mode: hostsim.OriginalDst, EndpointHeader: "x-endpoint", StripHeaders: []string{"X-Mode"},
		}}
	})
	for name, address := range map[string]string{"a": a, "b": b} {
		resp, _ := post(t, url, "headers:pause body:pause end:set:x-endpoint="+address, strings.NewReader("{}"),
			[2]string{"x-mode", "plain"}, [2]string{"x-endpoint", "10.9.9.9:1"})
		require.Equal(t, name, resp.Header.Get("X-Engine"))
		require.NotContains(t, resp.Header.Values("X-Got"), "X-Endpoint")
		require.NotContains(t, resp.Header.Values("X-Got"), "X-Mode")
		require.Contains(t, resp.Header.Values("X-Got"), "X-Do")
	}
	for _, steps := range []string{"", "headers:set:x-endpoint=localhost:80"} {
		resp, body := post(t, url, steps, strings.NewReader("{}"))
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, "no healthy upstream", body)
	}
}

func TestProxy_overrideHostWalksItsList(t *testing.T) {
	a, b := newEngine(t, "a", nil), newEngine(t, "b", nil)
	dead := deadAddress(t)
	host := hostsim.NewHost()
	logs := &lockedLogs{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Host, c.Logger = host, logs.logger()
		c.Clusters = []hostsim.Cluster{{
			Name: "engines", Mode: hostsim.OverrideHost, EndpointHeader: "x-endpoint", Retries: 1,
			Endpoints: []string{a, b, dead},
		}}
	})
	tests := []struct{ list, engine, attempts, address string }{
		{a, "a", "1", a},
		{b, "b", "1", b},
		{dead + ", " + b, "b", "2", b},
		{"10.9.9.9:1," + b, "b", "1", b}, // Not a member: skipped.
	}
	const watch = " log:number:upstream.request_attempt_count log:property:upstream.address"
	for _, tt := range tests {
		logs.reset()
		resp, _ := post(t, url, watch, strings.NewReader("{}"), [2]string{"x-endpoint", tt.list})
		require.Equal(t, tt.engine, resp.Header.Get("X-Engine"), tt.list)
		eventually(t, func() bool { return logs.has("upstream.address -> " + tt.address) })
		require.True(t, logs.has("attempt_count -> "+tt.attempts), tt.list)
	}
	resp, _ := post(t, url, watch, strings.NewReader("{}"), [2]string{"x-endpoint", dead + "," + dead})
	require.Equal(t, 503, resp.StatusCode, "one retry, both dead")
}

// Where nobody lists the hosts, those of the header are taken in its order.
func TestProxy_overrideHostOfAnyEndpoint(t *testing.T) {
	a, b := newEngine(t, "a", nil), newEngine(t, "b", nil)
	dead := deadAddress(t)
	logs := &lockedLogs{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Logger = logs.logger()
		c.Clusters = []hostsim.Cluster{{
			Name: "engines", Mode: hostsim.OverrideHost, EndpointHeader: "x-endpoint", Retries: 2, AnyEndpoint: true,
		}}
	})
	for list, engine := range map[string]string{
		a: "a", b + "," + a: "b", dead + ", " + b: "b", dead + "," + dead + "," + a: "a", "nonsense, engine:80," + a: "a",
	} {
		resp, _ := post(t, url, "", strings.NewReader("{}"), [2]string{"x-endpoint", list})
		require.Equal(t, engine, resp.Header.Get("X-Engine"), list)
		require.NotContains(t, resp.Header.Values("X-Got"), "X-Endpoint")
	}
	resp, body := post(t, url, "", strings.NewReader("{}"), [2]string{"x-endpoint", dead})
	require.Equal(t, 503, resp.StatusCode)
	require.Contains(t, body, "remote connection failure", "an unreachable host is not a missing one")
	require.False(t, logs.has("no upstream for a request"), logs.all())

	for _, headers := range [][][2]string{nil, {{"x-endpoint", "nonsense"}}, {{"x-endpoint", ""}}} {
		resp, body := post(t, url, "", strings.NewReader("{}"), headers...)
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, "no healthy upstream", body)
	}
	require.Equal(t, 1, strings.Count(logs.all(), "no upstream for a request"), "said once in a while: %s", logs.all())
}

func TestProxy_roundRobin(t *testing.T) {
	a, b := newEngine(t, "a", nil), newEngine(t, "b", nil)
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(a, "http://"+b) })
	seen := map[string]int{}
	for range 10 {
		resp, _ := post(t, url, "", strings.NewReader("{}"))
		seen[resp.Header.Get("X-Engine")]++
	}
	require.Equal(t, map[string]int{"a": 5, "b": 5}, seen)
}

func TestProxy_calloutsOverHTTP(t *testing.T) {
	state := newEngine(t, "state", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s-%s-%s", r.Method, r.URL.Path, b)
	})
	hang := make(chan struct{})
	slow := newEngine(t, "slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	defer close(hang)
	logs := &lockedLogs{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Logger = logs.logger()
		c.Clusters = append(engines(newEngine(t, "a", nil)),
			hostsim.Cluster{Name: "state", Endpoints: []string{"http://" + state}},
			hostsim.Cluster{Name: "slow", Endpoints: []string{slow}},
			hostsim.Cluster{Name: "dead", Endpoints: []string{deadAddress(t)}})
	})
	tests := map[string]string{
		"state=5000": "status 200, body POST-/pick-question",
		"slow=20":    "status 504, body upstream request timeout",
		"dead=5000":  "status 503, body upstream connect error or disconnect/reset before headers.",
	}
	for call, want := range tests {
		resp, _ := post(t, url, "headers:pause body:pause end:call:"+call, strings.NewReader("{}"))
		require.Equal(t, 200, resp.StatusCode)
		require.True(t, logs.has(want), "%s: %s", call, logs.all())
	}
}
