package hostsim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

// BenchmarkStream_pausedRequest is one request through a VM in memory: headers and body pause, edit, response.
func BenchmarkStream_pausedRequest(b *testing.B) {
	vm, err := guest(b, "steered", hostsim.Envoy139).NewVM(b.Context(), hostsim.VMOptions{AllowOnHeadersStopIteration: true})
	require.NoError(b, err)
	defer func() { require.NoError(b, vm.Close()) }()
	body := make([]byte, 4<<10)
	for b.Loop() {
		s := vm.NewStream(&hostsim.Recorder{}, hostsim.StreamOptions{})
		s.RequestHeaders(request("headers:pause end:set:x-endpoint=10.0.0.1:1"), false)
		s.RequestData(body, true)
		s.ResponseHeaders(ok200(), true)
	}
	require.NoError(b, vm.Failure())
}

// BenchmarkProxy_request is one request over loopback HTTP, client and engine in this process.
func BenchmarkProxy_request(b *testing.B) {
	engine := newEngine(b, "a", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	})
	url, _ := startProxy(b, func(c *hostsim.ProxyConfig) { c.Clusters, c.Trace = engines(engine), nil })
	client := newClient(b)
	body := strings.Repeat("x", 4<<10)
	for b.Loop() {
		resp, err := send(b.Context(), client, url, "headers:pause body:pause", strings.NewReader(body))
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(b, err)
		require.NoError(b, resp.Body.Close())
	}
}
