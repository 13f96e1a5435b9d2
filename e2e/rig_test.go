package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

// host is one way to run the filter.
type host struct {
	name      string
	version   string // of Envoy; empty is hostsim
	bootstrap envoytest.Bootstrap
}

func (h host) mode() string {
	if h.bootstrap == envoytest.OriginalDst {
		return spec.EndpointOriginalDst
	}
	return spec.EndpointOverrideHost
}

// hosts are the whole matrix: every Envoy and hostsim, in both endpoint modes.
func hosts() []host {
	var list []host
	for _, bootstrap := range []envoytest.Bootstrap{envoytest.OverrideHost, envoytest.OriginalDst} {
		for _, version := range envoytest.Versions() {
			list = append(list, host{"envoy-" + version + "/" + string(bootstrap), version, bootstrap})
		}
		list = append(list, host{"hostsim/" + string(bootstrap), "", bootstrap})
	}
	return list
}

// oneOfEach are the newest and the oldest Envoy and hostsim, in one mode.
func oneOfEach() []host {
	var list []host
	for _, h := range hosts() {
		if h.bootstrap == envoytest.OverrideHost {
			list = append(list, h)
		}
	}
	return list
}

// rig is a fleet of engines, a state service and a proxy in front.
type rig struct {
	t      testing.TB
	host   host
	fleet  *fakes.Fleet
	state  *stateService
	url    string
	log    func() string
	envoy  *envoytest.Envoy // nil for hostsim
	sim    *hostsim.Host    // nil for Envoy
	client *http.Client
}

// setup says how a rig differs from the plain one.
type setup struct {
	engines       []fakes.Config
	filter        string // JSON of "models"
	extra         string // further top-level JSON members, each with a comma after it
	state         string // further members of "state", each with a comma before it
	service       string // further lines of the state service's configuration
	noState       bool   // the state service is not started
	noHeaderPause bool
	concurrency   int
	seed          uint64           // of hostsim's random numbers
	endpoint      string           // the endpoint header, if not the default one
	before        []map[string]any // HTTP filters in front of ours, on Envoy
}

// newRig starts everything and waits until the proxy routes.
func newRig(t testing.TB, h host, s setup) *rig {
	t.Helper()
	r := &rig{t: t, host: h, client: &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(r.client.CloseIdleConnections)
	fleet, err := fakes.StartFleet(s.engines...)
	require.NoError(t, err)
	r.fleet = fleet
	t.Cleanup(fleet.StopAll)
	r.state = newStateWith(t, fleet, s.service)
	if !s.noState {
		r.state.start()
	}
	r.startProxy(s)
	if !s.noState {
		r.awaitModels()
	}
	return r
}

// startProxy starts a proxy of the rig's kind; the rig then talks to that one.
func (r *rig) startProxy(s setup) {
	filter := fmt.Sprintf(`{"version":1,"proxy":"e2e",%s"endpoint_mode":%q,"state":{"cluster":"pointsman_state"%s},"models":%s}`, s.extra, r.host.mode(), s.state, s.filter)
	if r.host.version == "" {
		r.startHostsim(s, filter)
	} else {
		r.startEnvoy(s, filter)
	}
}

func (r *rig) startEnvoy(s setup, filter string) {
	r.envoy = envoys.Lend(r.t, envoytest.Options{
		Version: r.host.version, Bootstrap: r.host.bootstrap, Module: module.Module(r.t), Filter: []byte(filter),
		State: r.state.addr, Engines: r.fleet.Addrs(), NoHeaderPause: s.noHeaderPause, Concurrency: s.concurrency,
		EndpointHeader: s.endpoint, Before: s.before,
	})
	r.url, r.log = r.envoy.URL(), r.envoy.Log
}

func (r *rig) startHostsim(s setup, filter string) {
	r.runHostsim(r.hostsimConfig(s, filter, r.fleet.Addrs(), r.state.addr))
}

// hostsimConfig is the counterpart of the shipped bootstraps.
func (r *rig) hostsimConfig(s setup, filter string, addrs []string, state string) hostsim.ProxyConfig {
	engines := hostsim.Cluster{
		Name: "engines", Mode: hostsim.OverrideHost, Endpoints: addrs, EndpointHeader: "x-pointsman-endpoint", Retries: 2,
		StripHeaders: []string{"x-pointsman-prefill", "x-pointsman-mode", "x-pointsman-model"},
	}
	if s.endpoint != "" {
		engines.EndpointHeader = s.endpoint
	}
	if r.host.bootstrap == envoytest.OriginalDst {
		engines.Mode, engines.Endpoints, engines.Retries = hostsim.OriginalDst, nil, 0
	}
	return hostsim.ProxyConfig{
		WasmPath: module.Module(r.t), FilterConfig: []byte(filter), PluginName: "pointsman", VMID: "pointsman",
		HeaderPause: !s.noHeaderPause, BodyLimit: 33 << 20, VMs: max(s.concurrency, 1), Seed: s.seed,
		Upstream: "engines", Clusters: []hostsim.Cluster{engines, {Name: "pointsman_state", Endpoints: []string{state}, HTTP2: envoytest.CallStream([]byte(filter))}},
	}
}

func (r *rig) runHostsim(cfg hostsim.ProxyConfig) {
	log := &syncBuilder{}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	r.sim = hostsim.NewHost()
	cfg.Host = r.sim
	proxy, err := hostsim.NewProxy(cfg)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = proxy.Stop(ctx)
	})
	require.NoError(r.t, proxy.Start("127.0.0.1:0"))
	r.url, r.log = "http://"+proxy.Addr().String(), log.String
}

// awaitModels waits until the filter knows engines for every model that some
// engine serves.
func (r *rig) awaitModels() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		a := r.get("/v1/models")
		return a.status == http.StatusOK && strings.Contains(a.body, `"id"`)
	}, 20*time.Second, 20*time.Millisecond, "no model is routed:\n%s", lazy(r.log))
}

// engine gives an engine by its number.
func (r *rig) engine(i int) *fakes.Engine { return r.fleet.Engines()[i] }

// stateService is a state service that a test can stop and start at one address.
type stateService struct {
	t       testing.TB
	addr    string
	file    string
	log     *slog.Logger // nil is none
	service *statesvc.Service
}

func newState(t testing.TB, fleet *fakes.Fleet) *stateService { return newStateWith(t, fleet, "") }

// newStateWith has further lines in the configuration.
func newStateWith(t testing.TB, fleet *fakes.Fleet, further string) *stateService {
	t.Helper()
	var file strings.Builder
	s := &stateService{t: t, addr: envoytest.FreePort(t)}
	fmt.Fprintf(&file, "version: 1\nlisten: %q\n%sfleet:\n  static:\n", s.addr, further)
	for _, e := range fleet.Engines() {
		fmt.Fprintf(&file, "    - {id: %s, address: %q}\n", e.Name(), e.Addr())
	}
	s.file = file.String()
	t.Cleanup(s.stop)
	return s
}

func (s *stateService) start() {
	s.t.Helper()
	cfg, err := config.Parse([]byte(s.file), os.Getenv)
	require.NoError(s.t, err)
	s.service, err = statesvc.New(cfg, statesvc.Options{Logger: s.log})
	require.NoError(s.t, err)
	require.NoError(s.t, s.service.Start(context.Background()))
}

func (s *stateService) stop() {
	if s.service == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.service.Stop(ctx)
	s.service = nil
}

// worker is a row of /v1/workers.
type worker struct {
	ID       string
	Healthy  bool
	Inflight int
	Load     struct{ Waiting *uint64 }
}

func (s *stateService) workers() map[string]worker {
	s.t.Helper()
	resp, err := http.Get("http://" + s.addr + "/v1/workers")
	require.NoError(s.t, err)
	defer resp.Body.Close()
	var doc struct{ Workers []worker }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&doc))
	rows := map[string]worker{}
	for _, w := range doc.Workers {
		rows[w.ID] = w
	}
	return rows
}

// eventually waits for something that other parts bring about.
func (r *rig) eventually(done func() bool, format string, args ...any) {
	r.t.Helper()
	require.Eventually(r.t, done, 15*time.Second, 20*time.Millisecond, append([]any{format + "\n%s"}, append(args, lazy(r.log))...)...)
}

// lazy is text that is made when it is printed.
type lazy func() string

func (l lazy) String() string { return l() }

// awaitInflight waits until the state service counts so many requests in flight
// over all engines.
func (r *rig) awaitInflight(want int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		total := 0
		for _, w := range r.state.workers() {
			total += w.Inflight
		}
		return total == want
	}, 10*time.Second, 20*time.Millisecond, "the state service never counts %d in flight", want)
}

// counter reads one of the filter's counters, zero before it first counted.
// Filters publish once a tick, so that a reading may lag.
func (r *rig) counter(name string) int64 {
	r.t.Helper()
	if r.sim != nil {
		n, _ := r.sim.Metrics().Value(name)
		return n
	}
	stats, err := r.envoy.Stats("pointsman_")
	require.NoError(r.t, err)
	return int64(stats["wasmcustom."+name])
}

// syncBuilder collects a log that is read meanwhile.
type syncBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuilder) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuilder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
