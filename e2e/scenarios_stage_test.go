package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// stage is a rig that is watched from all sides: engines that write down what
// reaches them, a state service whose callers are written down, and a trace of
// every call between the host and the filter.
type stage struct {
	*rig
	engines []*watchedEngine
	syncs   *watchedState
	traced  tracer
}

// stageSetup is a setup with as many watched engines as named, plain ones unless
// engines are given.
type stageSetup struct {
	setup
	watched int
	manager map[string]any // settings of Envoy's connection manager
	quiet   bool           // no trace, so that Envoy may be a lent one
	cluster string         // of the state service; empty is the shipped one
	edit    func(*hostsim.ProxyConfig)
}

// newStage starts everything and waits until the proxy routes.
func newStage(t testing.TB, h host, s stageSetup) *stage {
	t.Helper()
	r := &rig{t: t, host: h, client: &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(r.client.CloseIdleConnections)
	engines := s.engines
	if engines == nil {
		engines = plainEngines(s.watched)
	}
	fleet, err := fakes.StartFleet(engines...)
	require.NoError(t, err)
	r.fleet = fleet
	t.Cleanup(fleet.StopAll)
	st := &stage{rig: r}
	for _, e := range fleet.Engines() {
		w := watch(e)
		t.Cleanup(w.stop)
		st.engines = append(st.engines, w)
	}
	r.state = st.startState()
	st.syncs = watchState(r.state.addr)
	t.Cleanup(st.syncs.stop)
	st.startProxy(s)
	r.awaitModels()
	if !s.quiet {
		// From here on the trace of one exchange holds nothing of those before.
		st.eventually(st.idle, "the trace of the first requests does not end")
	}
	return st
}

// idle reports whether all streams are over and all of them are in the trace.
func (s *stage) idle() bool { return s.traced.whole() && ended(s.traced) }

// startState runs a state service over the watched engines.
func (s *stage) startState() *stateService {
	state := newState(s.t, s.fleet)
	for i, e := range s.engines {
		state.file = strings.ReplaceAll(state.file, s.fleet.Addrs()[i], e.addr())
	}
	state.start()
	return state
}

func (s *stage) startProxy(setup stageSetup) {
	filter := s.filterConfig(setup)
	if s.host.version != "" {
		o := envoytest.Options{
			Version: s.host.version, Bootstrap: s.host.bootstrap, Module: module.Module(s.t), Filter: []byte(filter),
			State: s.syncs.addr(), Engines: s.addrs(), Concurrency: setup.concurrency, Manager: setup.manager, Trace: !setup.quiet,
			NoHeaderPause: setup.noHeaderPause,
		}
		if setup.quiet {
			s.envoy = envoys.Lend(s.t, o)
		} else {
			s.envoy = envoytest.Start(s.t, o)
		}
		s.url, s.log = s.envoy.URL(), s.envoy.Log
		s.traced = &envoyTracer{envoy: s.envoy}
		return
	}
	cfg := s.hostsimConfig(setup.setup, filter, s.addrs(), s.syncs.addr())
	if !setup.quiet {
		cfg.Trace = &hostsim.Trace{}
	}
	if setup.edit != nil {
		setup.edit(&cfg)
	}
	s.runHostsim(cfg)
	s.traced = &hostsimTracer{trace: cfg.Trace}
}

// filterConfig names the engines itself when the state service is out of reach.
func (s *stage) filterConfig(setup stageSetup) string {
	cluster, workers := "pointsman_state", ""
	if setup.cluster != "" {
		cluster = setup.cluster
		var list []string
		for _, e := range s.engines {
			list = append(list, fmt.Sprintf(`{"id":%q,"address":%q,"models":["m"]}`, e.name, e.addr()))
		}
		workers = `"workers":[` + strings.Join(list, ",") + `],`
	}
	return fmt.Sprintf(`{"version":1,"proxy":"e2e",%s%s"endpoint_mode":%q,"state":{"cluster":%q%s},"models":%s}`,
		setup.extra, workers, s.host.mode(), cluster, setup.state, setup.filter)
}

func (s *stage) addrs() []string {
	var list []string
	for _, e := range s.engines {
		list = append(list, e.addr())
	}
	return list
}

// arrivals takes what has reached any engine.
func (s *stage) arrivals() []arrival {
	var list []arrival
	for _, e := range s.engines {
		list = append(list, e.take()...)
	}
	return list
}

// arrival takes the one request that has reached an engine.
func (s *stage) arrival() arrival {
	s.t.Helper()
	list := s.arrivals()
	require.Len(s.t, list, 1, "requests that reached an engine")
	return list[0]
}

// play gives all engines a script.
func (s *stage) play(answer script) {
	for _, e := range s.engines {
		e.play(answer)
	}
}

// watchedState stands before a state service and writes down its callers. A
// fault answers in its place.
type watchedState struct {
	server *httptest.Server

	mu    sync.Mutex
	calls map[string]int
	fault http.HandlerFunc
}

func watchState(addr string) *watchedState {
	w := &watchedState{calls: map[string]int{}}
	behind := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "http", addr
	}}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		w.calls[fmt.Sprintf("%s %s host=%s type=%s accept=%s", req.Method, req.URL.Path, req.Host,
			req.Header.Get("Content-Type"), req.Header.Get("Accept"))]++
		fault := w.fault
		w.mu.Unlock()
		if fault != nil {
			fault(rw, req)
			return
		}
		behind.ServeHTTP(rw, req)
	}))
	return w
}

func (w *watchedState) addr() string { return strings.TrimPrefix(w.server.URL, "http://") }

func (w *watchedState) stop() {
	w.fail(nil)
	w.server.CloseClientConnections()
	w.server.Close()
}

// fail puts a fault in place of the service; nil takes it away.
func (w *watchedState) fail(fault http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// kinds lists the different calls that were made.
func (w *watchedState) kinds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for kind := range w.calls {
		list = append(list, kind)
	}
	slices.Sort(list)
	return list
}

// made are the calls of requests, by path. Ticks time the syncs, which stay apart.
func (w *watchedState) made() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	byPath := map[string]int{}
	for kind, n := range w.calls {
		if path := strings.Fields(kind)[1]; path != "/v1/sync" {
			byPath[path] += n
		}
	}
	return byPath
}

// count is the number of all calls.
func (w *watchedState) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		n += c
	}
	return n
}
