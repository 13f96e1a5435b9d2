package hostsim_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

func TestProxy_badConfigurations(t *testing.T) {
	_, err := hostsim.NewProxy(hostsim.ProxyConfig{
		VMs: -1, Upstream: "engines",
		Clusters: []hostsim.Cluster{
			{Name: "a", Endpoints: []string{"ftp://x", "host"}},
			{Name: "a", Mode: hostsim.OriginalDst, Endpoints: []string{"h:1"}},
			{Retries: -1, AnyEndpoint: true},
		},
	})
	require.EqualError(t, err, strings.Join([]string{
		"wasm: give the filter's file",
		"vms: -1 is negative",
		`clusters[0]: endpoints[0]: "ftp://x" is not host:port or http(s)://host:port`,
		"clusters[1]: endpoint header: missing, original_dst needs one",
		"clusters[1]: endpoints: original_dst has none of its own",
		`clusters[1].name: "a" is taken`,
		"clusters[2]: name: missing",
		"clusters[2]: any endpoint: only override_host has it",
		"clusters[2]: retries: -1 is negative",
		`upstream: no cluster is named "engines"`,
	}, "\n"))

	for name, c := range map[string]hostsim.ProxyConfig{
		"filter: open /no/such/filter.wasm: no such file or directory":            {WasmPath: "/no/such/filter.wasm"},
		"filter: wasm module: not a WebAssembly module (wrong first eight bytes)": {Wasm: []byte("garbage")},
		"filter: the filter refused its configuration (proxy_on_configure)": {
			Module: guest(t, "steered", hostsim.Envoy139), FilterConfig: []byte("refuse"),
		},
	} {
		c.Upstream, c.Clusters = "engines", engines("127.0.0.1:1")
		_, err := hostsim.NewProxy(c)
		require.EqualError(t, err, name)
	}
}

func TestProxy_stopWaitsForOpenRequests(t *testing.T) {
	release := make(chan struct{})
	engine := newEngine(t, "a", func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, "done")
	})
	trace := &hostsim.Trace{}
	url, p := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters, c.Trace = engines(engine), trace })
	answer := make(chan string, 1)
	client := newClient(t)
	go func() {
		resp, err := send(t.Context(), client, url, "", strings.NewReader("{}"))
		if err != nil {
			answer <- err.Error()
			return
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answer <- string(b)
	}()
	eventually(t, func() bool { return trace.Count("proxy_on_request_headers") == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(t.Context()) }()
	close(release)
	require.Equal(t, "done", <-answer)
	require.NoError(t, <-stopped)
}

func TestProxy_stopCutsWhatDoesNotEnd(t *testing.T) {
	for _, started := range []bool{true, false} {
		trace := &hostsim.Trace{}
		config := hostsim.ProxyConfig{
			Module: guest(t, "steered", hostsim.Envoy139), VMs: 1, HeaderPause: true, Upstream: "engines",
			Clusters: engines(deadAddress(t)), Trace: trace,
		}
		p, err := hostsim.NewProxy(config)
		require.NoError(t, err)
		var url string
		if started {
			require.NoError(t, p.Start("127.0.0.1:0"))
			url = "http://" + p.Addr().String()
		} else {
			server := httptest.NewServer(p)
			defer server.Close()
			url = server.URL
		}
		failed := make(chan error, 1)
		client := newClient(t)
		go func() {
			resp, err := send(t.Context(), client, url, "headers:pause body:pause end:pause", strings.NewReader("{}"))
			if err == nil {
				_ = resp.Body.Close()
			}
			failed <- err
		}()
		eventually(t, func() bool { return trace.Count("proxy_on_request_body") == 2 })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = p.Stop(ctx)
		if started {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.NoError(t, err)
		}
		require.Error(t, <-failed)
		require.Equal(t, 1, trace.Count("proxy_on_log"))
	}
}
