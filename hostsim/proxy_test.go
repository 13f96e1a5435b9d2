package hostsim_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

// startProxy serves the steered guest in front of the clusters; edit may change the configuration.
func startProxy(t testing.TB, edit func(c *hostsim.ProxyConfig)) (url string, p *hostsim.Proxy) {
	t.Helper()
	config := hostsim.ProxyConfig{
		Module: guest(t, "steered", hostsim.Envoy139), VMs: 2, HeaderPause: true, Seed: 1, Upstream: "engines",
		Trace: &hostsim.Trace{},
	}
	edit(&config)
	p, err := hostsim.NewProxy(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, p.Stop(ctx))
	})
	require.NoError(t, p.Start("127.0.0.1:0"))
	return "http://" + p.Addr().String(), p
}

// newEngine is an upstream that echoes bodies and tells its name and the headers it got.
func newEngine(t testing.TB, name string, handler http.HandlerFunc) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Engine", name)
		if handler != nil {
			handler(w, r)
			return
		}
		b, _ := io.ReadAll(r.Body)
		for k := range r.Header {
			w.Header().Add("X-Got", k)
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// deadAddress is a loopback address that refuses connections.
func deadAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// newClient returns a client whose connections end with the test.
func newClient(t testing.TB) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// send posts a body; steps steer the guest.
func send(ctx context.Context, client *http.Client, url, steps string, body io.Reader, headers ...[2]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat", body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Do", steps)
	for _, h := range headers {
		req.Header.Add(h[0], h[1])
	}
	return client.Do(req)
}

func post(t testing.TB, url, steps string, body io.Reader, headers ...[2]string) (*http.Response, string) {
	t.Helper()
	resp, err := send(t.Context(), newClient(t), url, steps, body, headers...)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(b)
}

func engines(endpoints ...string) []hostsim.Cluster {
	return []hostsim.Cluster{{Name: "engines", Endpoints: endpoints}}
}

func eventually(t testing.TB, what func() bool) {
	t.Helper()
	require.Eventually(t, what, 10*time.Second, 2*time.Millisecond)
}

func TestProxy_forwardsAndEdits(t *testing.T) {
	engine := newEngine(t, "a", nil)
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(engine) })
	resp, body := post(t, url, "headers:pause body:pause end:splice:0,1,{new, end:set:content-length=9",
		strings.NewReader("{old}"))
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "{new,old}", body)
	require.Equal(t, "a", resp.Header.Get("X-Engine"))
	require.Contains(t, resp.Header.Values("X-Got"), "X-Request-Id")
	require.NotContains(t, resp.Header.Values("X-Got"), "User-Agent-Added")
}

func TestProxy_bodyLimit(t *testing.T) {
	engine := newEngine(t, "a", nil)
	trace := &hostsim.Trace{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters, c.Trace = engines(engine), trace })
	big := bytes.Repeat([]byte("x"), 32<<20)
	resp, body := post(t, url, "headers:pause body:pause", bytes.NewReader(big))
	require.Equal(t, 200, resp.StatusCode)
	require.Len(t, body, len(big))

	trace.Reset()
	resp, _ = post(t, url, "headers:pause body:pause end:pause", bytes.NewReader(append(big, make([]byte, 65<<10)...)))
	require.Equal(t, 413, resp.StatusCode)
	eventually(t, func() bool { return trace.Count("proxy_on_log") == 1 })
}

func TestProxy_streamsChunkByChunk(t *testing.T) {
	next := make(chan string)
	engine := newEngine(t, "a", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range next {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(engine) })
	done := make(chan struct{})
	resp := make(chan *http.Response, 1)
	client := newClient(t)
	go func() {
		defer close(done)
		r, err := send(t.Context(), client, url, "", strings.NewReader("{}"))
		if err == nil {
			resp <- r
		}
	}()
	next <- "0"
	<-done
	r := <-resp
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for i := range 5 {
		require.True(t, lines.Scan())
		require.Equal(t, fmt.Sprintf("data: %d", i), lines.Text())
		require.True(t, lines.Scan())
		if i < 4 {
			next <- strconv.Itoa(i + 1) // Sent only after the one before arrived.
		}
	}
	close(next)
	require.False(t, lines.Scan())
	require.NoError(t, lines.Err())
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
}

func TestProxy_clientLeavesMidStream(t *testing.T) {
	left := make(chan struct{})
	engine := newEngine(t, "a", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	})
	trace := &hostsim.Trace{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters, c.Trace = engines(engine), trace })
	resp, err := send(t.Context(), newClient(t), url, "", strings.NewReader("{}"))
	require.NoError(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 5))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	<-left
	eventually(t, func() bool { return trace.Count("proxy_on_log") == 1 })
}

func TestProxy_clientLeavesWhilePausedOrUploading(t *testing.T) {
	trace := &hostsim.Trace{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Clusters, c.Trace = engines(deadAddress(t)), trace
	})
	for i, body := range []string{"", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-Do: headers:pause body:pause end:pause\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%s", body)
		require.NoError(t, err)
		eventually(t, func() bool { return trace.Count("proxy_on_request_headers") == i+1 })
		require.NoError(t, conn.Close())
		eventually(t, func() bool { return trace.Count("proxy_on_log") == i+1 })
	}
}

func TestProxy_upstreamBreaksOff(t *testing.T) {
	engine := newEngine(t, "a", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/v1/chat" {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	trace := &hostsim.Trace{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters, c.Trace = engines(engine), trace })
	resp, err := send(t.Context(), newClient(t), url, "", strings.NewReader("{}"))
	require.NoError(t, err)
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "half", string(got))
	require.Error(t, err, "no end is made up")
	eventually(t, func() bool { return trace.Count("proxy_on_log") == 1 })

	resp, body := post(t, url, "headers:set::path=/other", strings.NewReader("{}"))
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "upstream connect error or disconnect/reset before headers. reset reason: connection termination", body)
}

func TestProxy_withoutHeaderPauseTheSourceWaits(t *testing.T) {
	engine := newEngine(t, "a", nil)
	trace := &hostsim.Trace{}
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Clusters, c.HeaderPause, c.BodyLimit, c.Trace = engines(engine), false, 64<<10, trace
		c.FilterConfig = []byte("tick:log:tick")
	})
	big := strings.Repeat("x", 4<<20)
	resp, body := post(t, url, "headers:wait", strings.NewReader(big)) // The guest resumes on its next tick.
	require.Equal(t, 200, resp.StatusCode)
	require.Len(t, body, len(big))
}

func TestProxy_idleStreamsEnd(t *testing.T) {
	trace, clock := &hostsim.Trace{}, hostsim.NewManualClock(epoch)
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Clusters, c.HeaderPause, c.BodyLimit = engines(deadAddress(t)), false, 64<<10
		c.Trace, c.Clock, c.StreamIdleTimeout = trace, clock, time.Minute
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-Do: headers:pause log:log:over\r\n"+
		"Content-Length: 300000\r\n\r\n%s", make([]byte, 200000))
	require.NoError(t, err)
	eventually(t, func() bool { return trace.Count("proxy_on_request_headers") == 1 })
	clock.Advance(2 * time.Minute)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 408, resp.StatusCode)
	eventually(t, func() bool { return trace.Count("proxy_on_log") == 1 })
}

func TestProxy_trapIsOneRequestOnly(t *testing.T) {
	engine := newEngine(t, "a", nil)
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.Clusters, c.OnFailure, c.VMs = engines(engine), hostsim.FailReload, 1
	})
	resp, _ := post(t, url, "headers:panic:", strings.NewReader("{}"))
	require.Equal(t, 503, resp.StatusCode)
	eventually(t, func() bool {
		resp, _ := post(t, url, "", strings.NewReader("{}"))
		return resp.StatusCode == 200
	})
}

func TestProxy_parallelRequestsAndMetrics(t *testing.T) {
	engine := newEngine(t, "a", nil)
	url, p := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(engine) })
	client := newClient(t)
	var wg sync.WaitGroup
	var good atomic.Int64
	for worker := range 16 {
		wg.Go(func() {
			for i := range 25 {
				want := fmt.Sprintf("body %d/%d", worker, i)
				resp, err := send(t.Context(), client, url, "headers:pause body:pause end:count:requests", strings.NewReader(want))
				if err != nil {
					continue
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err == nil && string(b) == want {
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 400, good.Load())
	require.Equal(t, []hostsim.Metric{{Name: "wasmcustom.requests", Type: hostsim.MetricCounter, Value: 400}}, p.Metrics())
}

func TestProxy_trailersPassBothWays(t *testing.T) {
	engine := newEngine(t, "a", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set(http.TrailerPrefix+"X-Down", r.Trailer.Get("X-Up"))
		_, _ = io.WriteString(w, "ok")
	})
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(engine) })
	for _, steps := range []string{"", "headers:pause body:pause"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.NopCloser(strings.NewReader("{}")))
		require.NoError(t, err)
		req.Header.Set("X-Do", steps)
		req.Trailer = http.Header{"X-Up": {"sum"}}
		resp, err := newClient(t).Do(req)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "sum", resp.Trailer.Get("X-Down"), steps)
	}
}

func TestProxy_answersWithoutReadingTheBody(t *testing.T) {
	url, _ := startProxy(t, func(c *hostsim.ProxyConfig) { c.Clusters = engines(deadAddress(t)) })
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-Do: headers:local:429=busy\r\nContent-Length: 1000000\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 429, resp.StatusCode)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "busy", string(b))
}
