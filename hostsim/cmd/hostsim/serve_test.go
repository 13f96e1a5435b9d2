package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// served is serve without its listener: a proxy as serve would configure it, in
// front of a state service.
type served struct {
	t     *testing.T
	proxy *hostsim.Proxy
}

// fleetOf starts fake engines of a model and a state service that knows them.
func fleetOf(t *testing.T, model string, engines int) *demo {
	t.Helper()
	d := &demo{}
	t.Cleanup(d.stop)
	base := demoEngine()
	base.Models, base.PrefillBase, base.DecodePerToken = []string{model}, time.Millisecond, time.Microsecond
	for _, cfg := range fakes.Replicate(base, engines) {
		engine, err := startEngine(cfg, 0)
		require.NoError(t, err)
		d.engines = append(d.engines, engine)
	}
	require.NoError(t, d.startState(t.Context(), "127.0.0.1:0", slog.New(slog.DiscardHandler)))
	return d
}

func serving(t *testing.T, module *hostsim.Module, c *serveCmd) *served {
	t.Helper()
	document, cfg, err := c.configuration()
	require.NoError(t, err)
	config := c.proxyConfig(document, cfg, slog.New(slog.DiscardHandler))
	config.Module, config.VMs = module, 1
	proxy, err := hostsim.NewProxy(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stopProxy(proxy)) })
	return &served{t, proxy}
}

func (s *served) post(path, body string, headers ...string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("content-type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.proxy.ServeHTTP(w, r)
	return w.Result()
}

// knows waits until the filter knows an engine of the model.
func (s *served) knows(model string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		w := httptest.NewRecorder()
		s.proxy.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/v1/models", nil))
		return strings.Contains(w.Body.String(), `"`+model+`"`)
	}, 20*time.Second, 20*time.Millisecond)
}

// ask sends a chat until the fleet is known to the filter.
func (s *served) ask(model string) (engine string) {
	s.t.Helper()
	body := `{"model":"` + model + `","max_tokens":2,"messages":[{"role":"user","content":"hello"}]}`
	var last string
	require.Eventually(s.t, func() bool {
		resp := s.post("/v1/chat/completions", body, "x-session-id", "s1")
		text, _ := io.ReadAll(resp.Body)
		engine, last = resp.Header.Get("x-fake-engine"), resp.Status+" "+string(text)
		return resp.StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond, "%s", &last)
	return engine
}

// Every shipped filter configuration that leaves the engines to the state service
// is served as the help's examples say, with nothing but --config and --state.
func TestServe_shippedConfigurations(t *testing.T) {
	module := simulated(t)
	files, err := filepath.Glob("../../../configs/filter/*.json")
	require.NoError(t, err)
	tried := 0
	for _, file := range files {
		c := &serveCmd{Config: file, State: "http://127.0.0.1:1"}
		_, cfg, err := c.configuration()
		require.NoError(t, err)
		if len(cfg.Workers) > 0 {
			continue
		}
		tried++
		t.Run(filepath.Base(file), func(t *testing.T) {
			for model := range maps.Keys(cfg.Models) {
				if cfg.State.TokenEnv != "" {
					t.Setenv(cfg.State.TokenEnv, "unused")
				}
				c.State = fleetOf(t, model, 4).stateURL()
				require.Contains(t, serving(t, module, c).ask(model), "engine-")
			}
		})
	}
	require.GreaterOrEqual(t, tried, 7)
}

// An engine that is gone is passed over for the next one that the filter named.
func TestServe_goesToTheNextEngineThatTheFilterNamed(t *testing.T) {
	fleet := fleetOf(t, "demo", 2)
	file := filepath.Join(t.TempDir(), "filter.json")
	document, err := demoFilter()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, document, 0o600))
	s := serving(t, simulated(t), &serveCmd{Config: file, State: fleet.stateURL()})
	s.knows("demo")
	fleet.engines[0].Stop() // nothing was sent to it before, so that no connection is left to break
	for range 8 {
		resp := s.post("/v1/chat/completions", `{"model":"demo","max_tokens":2,"messages":[{"role":"user","content":"hello"}]}`)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, "engine-1", resp.Header.Get("x-fake-engine"))
	}
}

// The second turn of a chat finds the first in the cache of the engine that served it,
// as README.md shows.
func TestServe_demoHitsItsCaches(t *testing.T) {
	fleet := fleetOf(t, "demo", 4)
	s := serving(t, simulated(t), &serveCmd{Config: "../../../configs/filter/cache-aware.json", State: fleet.stateURL()})
	s.ask("demo")
	chat := func(messages string) (engine string, cached int) {
		resp := s.post("/v1/chat/completions", `{"model":"demo","max_tokens":2,"messages":[`+messages+`]}`)
		var said struct {
			Usage struct {
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&said))
		return resp.Header.Get("x-fake-engine"), said.Usage.Details.Cached
	}
	// What an engine says comes a little later, and a busy machine may keep the state
	// service from answering in time, so other chats are begun until one hits.
	number, first, engine := 0, "", ""
	require.Eventually(t, func() bool {
		if first == "" {
			number++
			first = fmt.Sprintf(`{"role":"user","content":"%d %s"}`, number, strings.Repeat("word ", 400))
			engine, _ = chat(first)
			return false
		}
		again, cached := chat(first + `,{"role":"user","content":"and then?"}`)
		first = ""
		return again == engine && cached >= 256 && strings.Contains(s.metrics(), "pointsman_cache_decisions_total{decision=\"cache_hit\"}")
	}, 20*time.Second, 50*time.Millisecond)
}

// With state.call_stream the state service is spoken to in HTTP/2, and calls go on a stream.
func TestServe_callsOnAStream(t *testing.T) {
	fleet := fleetOf(t, "demo", 2)
	text, err := os.ReadFile("../../../configs/filter/cache-aware.json")
	require.NoError(t, err)
	document := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &document))
	document["state"].(map[string]any)["call_stream"] = true
	text, err = json.Marshal(document)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "filter.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	s := serving(t, simulated(t), &serveCmd{Config: file, State: fleet.stateURL()})
	s.ask("demo")
	require.Eventually(t, func() bool {
		return strings.Contains(s.metrics(), `pointsman_call_streams_total{outcome="opened"} 1`)
	}, 20*time.Second, 20*time.Millisecond)
	s.ask("demo")
	require.NotContains(t, s.metrics(), `outcome="lost"`)
}

// metrics reads the admin listener.
func (s *served) metrics() string {
	w := httptest.NewRecorder()
	adminHandler(s.proxy.Metrics).ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestAdmin(t *testing.T) {
	none, err := startAdmin(t.Context(), "", nil)
	require.NoError(t, err)
	require.NoError(t, none.stop())

	a, err := startAdmin(t.Context(), "127.0.0.1:0", func() []hostsim.Metric { return []hostsim.Metric{{Name: "wasmcustom.n_total", Value: 7}} })
	require.NoError(t, err)
	text, err := fetch(t.Context(), "http://"+a.addr+"/metrics")
	require.NoError(t, err)
	require.Contains(t, text, "n_total 7\n")
	text, err = fetch(t.Context(), "http://"+a.addr+"/")
	require.NoError(t, err)
	require.Contains(t, text, "GET /metrics")

	_, err = startAdmin(t.Context(), a.addr, nil)
	require.ErrorContains(t, err, "choose another with --admin-listen")
	require.NoError(t, a.stop())
}
