package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// The counters a charge leaves behind. A routed request took one, a released one
// gave it back.
const (
	countRouted   = "pointsman_requests_total_outcome=routed"
	countReleased = "pointsman_charges_released_total"
	countReplaced = "pointsman_pick_replaced_total"
	countSynced   = "pointsman_sync_total_outcome=ok"
)

// backend is what proxies stand in front of: engines and their state service.
type backend struct {
	fleet *fakes.Fleet
	state *stateService
}

func newBackend(t testing.TB, engines []fakes.Config) *backend {
	t.Helper()
	fleet, err := fakes.StartFleet(engines...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	b := &backend{fleet: fleet, state: newState(t, fleet)}
	b.state.start()
	return b
}

// front is a rig for a proxy alone. Several can share a backend.
type front struct {
	*rig
}

// frontSetup says how a front differs from the plain one.
type frontSetup struct {
	models string // JSON of "models"
	extra  string // further top-level JSON members, each with a comma after it
	sync   string // further JSON members of "state", each with a comma before it
	state  string // address the proxy is given for the state service; empty is the service's own
	http1  bool   // the state service's cluster speaks HTTP/1.1, whatever the filter wants
}

// filter is the filter's configuration.
func (s frontSetup) filter(h host) string {
	return fmt.Sprintf(`{"version":1,"proxy":"e2e",%s"endpoint_mode":%q,"state":{"cluster":"pointsman_state"%s},"models":%s}`,
		s.extra+retryWhere(h), h.mode(), s.sync, s.models)
}

// newFront starts a proxy on a backend and waits until it routes.
func (b *backend) newFront(t testing.TB, h host, s frontSetup) *front {
	t.Helper()
	f := b.bareFront(t, h)
	if s.state == "" {
		s.state = b.state.addr
	}
	if h.version == "" {
		cfg := f.hostsimConfig(setup{}, s.filter(h), b.fleet.Addrs(), s.state)
		cfg.Clusters[1].HTTP2 = cfg.Clusters[1].HTTP2 && !s.http1
		f.runHostsim(cfg)
	} else {
		f.useEnvoy(envoys.Lend(t, b.envoyOptions(t, h, s)))
	}
	f.awaitModels()
	return f
}

// bareFront is a front without a proxy.
func (b *backend) bareFront(t testing.TB, h host) *front {
	client := &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	t.Cleanup(client.CloseIdleConnections)
	return &front{rig: &rig{t: t, host: h, fleet: b.fleet, state: b.state, client: client}}
}

func (f *front) useEnvoy(e *envoytest.Envoy) { f.envoy, f.url, f.log = e, e.URL(), e.Log }

func (b *backend) envoyOptions(t testing.TB, h host, s frontSetup) envoytest.Options {
	t.Helper()
	return envoytest.Options{
		Version: h.version, Bootstrap: h.bootstrap, Module: module.Module(t), Filter: []byte(s.filter(h)),
		State: s.state, StateHTTP1: s.http1, Engines: b.fleet.Addrs(),
	}
}

// awaitSyncs waits until the filter has taken over several more replies, so that
// one of them answers a report made after the call began: one was on its way, and
// the idle polls of Envoy's main thread, one a second, count too.
func (f *front) awaitSyncs() {
	f.t.Helper()
	before := f.counter(countSynced)
	f.eventually(func() bool { return f.counter(countSynced) >= before+8 }, "the filter does not sync")
}

// inflight is what the state service counts for each engine. A total that fell
// below zero shows as a number near 2^64.
func (s *stateService) inflight() (map[string]uint64, error) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + s.addr + "/v1/workers")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var doc struct {
		Workers []struct {
			ID       string
			Inflight uint64
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return nil, err
	}
	counts := map[string]uint64{}
	for _, w := range doc.Workers {
		counts[w.ID] = w.Inflight
	}
	return counts, nil
}

// awaitEngine waits until the state service counts so many requests in flight on
// one engine.
func (f *front) awaitEngine(id string, want uint64) {
	f.t.Helper()
	f.eventually(func() bool {
		counts, err := f.state.inflight()
		got, listed := counts[id]
		return err == nil && listed && got == want
	}, "the state service never counts %d in flight on %s", want, id)
}

// refleet restarts the state service at its address with these engines.
func (b *backend) refleet(engines ...*fakes.Engine) {
	b.state.t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "version: 1\nlisten: %q\nshutdown: {drain_ms: 0}\nfleet:\n  static:\n", b.state.addr)
	for _, e := range engines {
		fmt.Fprintf(&file, "    - {id: %s, address: %q}\n", e.Name(), e.Addr())
	}
	b.state.stop()
	b.state.file = file.String()
	b.state.start()
}

// seedOf gives a test's seed: SEED of the environment replays a run.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		_, err := fmt.Sscan(text, &seed)
		require.NoError(t, err, "SEED must be a number")
	}
	t.Logf("replay with SEED=%d", seed)
	return seed
}
