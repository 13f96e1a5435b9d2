package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
	"github.com/stretchr/testify/require"
)

// renderCase is a configuration whose bootstrap must run as it was rendered.
type renderCase struct {
	name, mode, filter string
	known              bool // Envoy is told the engines
	stream             bool // calls go to the state service on a stream
}

func renderCases() []renderCase {
	const top = `{"version": 1, "proxy": "e2e", "state": {"cluster": "pointsman_state", "token_env": "STATE_TOKEN"}, "abort": {"cluster": "llm-engines"},`
	stream := strings.Replace(top, `"cluster": "pointsman_state"`, `"cluster": "pointsman_state", "call_stream": true`, 1)
	models := `"models": ` + twoModels + `}`
	return []renderCase{
		{"override_host", spec.EndpointOverrideHost, top + `"transport_retry": true, "paths": ["/v1/chat/completions", "/v1/completions", "/generate"], "generate_model": "m",` + models, true, false},
		{"original_dst", spec.EndpointOriginalDst, top + `"endpoint_mode": "original_dst",` + models, false, false},
		{"original_dst, other paths and a stream of calls", spec.EndpointOriginalDst, stream + `"endpoint_mode": "original_dst",` + models, true, true},
	}
}

// renderFor renders a bootstrap for the rig's fleet and state service.
func (r *rig) renderFor(c renderCase, version string) envoytest.Given {
	r.t.Helper()
	o := render.Options{
		Listen: envoytest.FreePort(r.t), Admin: envoytest.FreePort(r.t), State: r.state.addr,
		Wasm: render.Wasm{Path: module.Module(r.t)}, EnvoyVersion: version,
	}
	if c.known {
		o.Engines = r.fleet.Addrs()
	}
	in, err := render.Read([]byte(c.filter), o)
	require.NoError(r.t, err)
	files, err := envoy.Render(in)
	require.NoError(r.t, err)
	return envoytest.Given{Version: version, Config: files[0].Text, Listen: o.Listen, Admin: o.Admin, Env: []string{"STATE_TOKEN=secret"}}
}

// Rendered bootstraps run as they are, on the newest and the oldest Envoy: requests
// are routed by their bodies, large ones too, and the routing headers neither come in
// from clients nor get out to engines.
func TestRender(t *testing.T) {
	for _, version := range envoytest.Versions() {
		for _, c := range renderCases() {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				r := rigWithoutProxy(t, setup{engines: roomyEngines()})
				given := r.renderFor(c, version)
				said, err := given.Validate(t)
				require.NoError(t, err, "%s\n%s", said, given.Config)
				r.envoy = given.Start(t)
				r.url, r.log = r.envoy.URL(), r.envoy.Log
				r.awaitModels()
				r.requireRoutedByBody()
				r.requireStripped()
				r.requirePassedOn(c.known)
				if c.stream {
					r.eventually(func() bool { return r.counter("pointsman_call_streams_total_outcome=opened") > 0 }, "no stream to the state service")
					require.Zero(t, r.counter("pointsman_call_streams_total_outcome=lost"))
				}
			})
		}
	}
}

// roomyEngines are two engines for the models of twoModels that take any prompt.
func roomyEngines() []fakes.Config {
	return fakes.Replicate(fakes.Config{Models: []string{"m", "other"}, MaxModelLen: 1 << 30}, 2)
}

// rigWithoutProxy starts engines and a state service.
func rigWithoutProxy(t testing.TB, s setup) *rig {
	t.Helper()
	r := &rig{t: t, client: &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(r.client.CloseIdleConnections)
	fleet, err := fakes.StartFleet(s.engines...)
	require.NoError(t, err)
	r.fleet = fleet
	t.Cleanup(fleet.StopAll)
	r.state = newStateWith(t, fleet, s.service)
	r.state.start()
	return r
}

// requireRoutedByBody sends prompts of different lengths, up to the largest body.
func (r *rig) requireRoutedByBody() {
	r.t.Helper()
	for range 3 {
		require.Equal(r.t, "engine-0", r.chat("m", 100).engine())
		require.Equal(r.t, "engine-1", r.chat("m", 4000).engine())
	}
	a := r.chat("m", spec.MaxBody-1024)
	require.Equal(r.t, http.StatusOK, a.status, "%.300s\n%s", a.body, lazy(r.log))
	require.Equal(r.t, "engine-1", a.engine())
	r.requireRefused(r.chat("m", spec.MaxBody), 413, "payload_too_large")
	require.NotContains(r.t, r.log(), "routing by headers only")
}

// requireStripped sends every routing header and looks at what engines got.
func (r *rig) requireStripped() {
	r.t.Helper()
	header := jsonHeader()
	for _, name := range []string{"X-Pointsman-Endpoint", "X-Pointsman-Prefill", "X-Pointsman-Mode", "X-Pointsman-Model"} {
		header.Set(name, r.engine(1).Addr())
	}
	a := r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("m", 100)))
	require.Equal(r.t, "engine-0", a.engine())
	for _, e := range r.fleet.Engines() {
		for _, request := range e.Requests() {
			for name := range request.Header {
				require.False(r.t, strings.HasPrefix(strings.ToLower(name), "x-pointsman-"), name)
			}
		}
	}
}

// requirePassedOn sends a path that the filter does not route.
func (r *rig) requirePassedOn(known bool) {
	r.t.Helper()
	want := http.StatusNotFound
	if known {
		want = http.StatusOK
	}
	require.Equal(r.t, want, r.get("/health").status)
}
