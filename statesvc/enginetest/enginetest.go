// Package enginetest is an engine for the state service's own tests: a real HTTP
// server on loopback that can be restarted at its address, hang, refuse and
// change what it says. It serves no completions.
package enginetest

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// State is what the engine says. Tests change it with Engine.Set.
type State struct {
	Health     int           // status of /health
	Hang       bool          // /health answers only when the client gives up
	Models     string        // body of /v1/models; empty: 404
	ServerInfo string        // body of /server_info; empty: 404
	GetInfo    string        // body of /get_server_info; empty: 404
	Sources    string        // body of /kv_event_sources; empty: 404
	Loads      string        // body of /v1/loads; empty: 404
	Metrics    string        // body of /metrics; empty: 404
	Delay      time.Duration // before /metrics answers
}

// Models is a /v1/models body of plain models.
func Models(names ...string) string {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = fmt.Sprintf(`{"id":%q,"object":"model","parent":null}`, name)
	}
	return `{"object":"list","data":[` + strings.Join(entries, ",") + `]}`
}

// VLLM is a metrics page of vLLM with one rank, 1,000 blocks of 16 tokens and
// the given process start in seconds; no start when it is 0.
func VLLM(running, waiting int, usage, start float64) string {
	page := fmt.Sprintf(`# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} %d
vllm:num_requests_waiting{engine="0",model_name="m"} %d
vllm:kv_cache_usage_perc{engine="0",model_name="m"} %g
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"} 1
`, running, waiting, usage)
	if start != 0 {
		page += fmt.Sprintf("process_start_time_seconds %g\n", start)
	}
	return page
}

// Engine is one running engine.
type Engine struct {
	t       testing.TB
	address string
	mu      sync.Mutex
	state   State
	server  *http.Server
	served  chan struct{}
	calls   map[string]int
}

// Start runs an engine until the test ends: healthy, vLLM, serving model "m".
func Start(t testing.TB) *Engine {
	t.Helper()
	return StartAt(t, "127.0.0.1:0")
}

// StartAt is Start at a given loopback address.
func StartAt(t testing.TB, address string) *Engine {
	t.Helper()
	e := &Engine{t: t, calls: map[string]int{}, state: State{
		Health: http.StatusOK, Models: Models("m"), Metrics: VLLM(1, 2, .5, 1000.5),
	}}
	e.listen(address)
	t.Cleanup(e.Stop)
	return e
}

// Address is the engine's ip:port; it stays over Stop and Restart.
func (e *Engine) Address() string { return e.address }

// Set changes what the engine says.
func (e *Engine) Set(change func(*State)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.state)
}

// Calls counts the requests to a path.
func (e *Engine) Calls(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[path]
}

// Stop closes the engine's port and connections. It may be called again.
func (e *Engine) Stop() {
	if e.server == nil {
		return
	}
	_ = e.server.Close()
	<-e.served
	e.server = nil
}

// Restart listens at the same address again.
func (e *Engine) Restart() { e.listen(e.address) }

func (e *Engine) listen(address string) {
	e.t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(e.t, err)
	e.address = l.Addr().String()
	server, served := &http.Server{Handler: e}, make(chan struct{})
	e.server, e.served = server, served
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
}

// ServeHTTP answers by the present state.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	s := e.state
	e.calls[r.URL.Path]++
	e.mu.Unlock()
	body := ""
	switch r.URL.Path {
	case "/health":
		if s.Hang {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(s.Health)
		return
	case "/v1/models":
		body = s.Models
	case "/server_info":
		body = s.ServerInfo
	case "/get_server_info":
		body = s.GetInfo
	case "/kv_event_sources":
		body = s.Sources
	case "/v1/loads":
		body = s.Loads
	case "/metrics":
		body = s.Metrics
		select {
		case <-time.After(s.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if body == "" {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(body))
}
