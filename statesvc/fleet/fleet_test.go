package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps the last of everything.
type sink struct {
	mu         sync.Mutex
	workers    map[core.WorkerID]core.Worker
	recoveries map[core.WorkerID]uint64
	reports    map[core.WorkerID]core.LoadReport
	removed    []core.WorkerID
	answering  bool
}

func newSink() *sink {
	return &sink{
		workers: map[core.WorkerID]core.Worker{}, recoveries: map[core.WorkerID]uint64{},
		reports: map[core.WorkerID]core.LoadReport{},
	}
}

func (s *sink) Describe(w core.Worker, recoveries uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers[w.ID], s.recoveries[w.ID] = w, recoveries
}

func (s *sink) Report(id core.WorkerID, generation uint64, r core.LoadReport, _ core.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[id].Generation == generation {
		s.reports[id] = r
	}
}

func (s *sink) Remove(id core.WorkerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, id)
	delete(s.reports, id)
	s.removed = append(s.removed, id)
}

func (s *sink) AnsweredWithin(core.WorkerID, core.Instant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answering
}

func (s *sink) worker(id core.WorkerID) core.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[id]
}

func (s *sink) report(id core.WorkerID) (core.LoadReport, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.reports[id]
	return r, ok
}

// resolver answers from a table that tests change.
type resolver struct {
	mu    sync.Mutex
	found []string
}

func (r *resolver) set(addresses ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = addresses
}

func (r *resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.found) == 0 {
		return nil, errors.New("no such host")
	}
	list := make([]netip.Addr, len(r.found))
	for i, a := range r.found {
		list[i] = netip.MustParseAddr(a)
	}
	return list, nil
}

const fast = `version: 1
health: {interval_ms: 20, timeout_ms: 200, hang_after_ms: 300, max_backoff_ms: 100}
load: {interval_ms: 20, timeout_ms: 2000}
introspect: {interval_ms: 100, timeout_ms: 1000, attempts: 1}
fleet:
  resolve_ms: 100
  static:
`

// watchSlowly is watch with an hour between probes.
func watchSlowly(t *testing.T, s *sink, workers ...string) *fleet.Fleet {
	t.Helper()
	return run(t, s, nil, strings.Replace(fast, "interval_ms: 20,", "interval_ms: 3600000,", 1), workers)
}

// watch runs a fleet of the given workers until the test ends.
func watch(t *testing.T, s *sink, r fleet.Resolver, workers ...string) *fleet.Fleet {
	t.Helper()
	return run(t, s, r, fast, workers)
}

func run(t *testing.T, s *sink, r fleet.Resolver, head string, workers []string) *fleet.Fleet {
	t.Helper()
	text := head + "    - " + strings.Join(workers, "\n    - ") + "\n"
	cfg, err := config.Parse([]byte(text), func(string) string { return "" })
	require.NoError(t, err)
	began := time.Now()
	f := fleet.New(fleet.Options{
		Config: cfg, Sink: s, Resolver: r, Logger: slog.New(slog.DiscardHandler),
		Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) },
	})
	f.Start()
	t.Cleanup(f.Stop)
	return f
}

func engine(id string, e *enginetest.Engine) string {
	return fmt.Sprintf("{id: %s, address: %q}", id, e.Address())
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		require.True(t, time.Now().Before(deadline), what)
		time.Sleep(2 * time.Millisecond)
	}
}

func TestFleet_healthyOnlyAfterAGoodProbe(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Health = http.StatusServiceUnavailable })
	s := newSink()
	f := watch(t, s, nil, engine("a", e))
	<-f.Ready()
	require.False(t, s.worker("a").Healthy)
	require.Zero(t, s.worker("a").Generation)
	status := f.Status()[0]
	require.Equal(t, fleet.HealthDown, status.Health)
	require.Equal(t, "GET /health: status 503 Service Unavailable", status.ProbeError)

	e.Set(func(s *enginetest.State) { s.Health = http.StatusOK })
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	w := s.worker("a")
	require.Equal(t, []string{"m"}, w.Models)
	require.Equal(t, core.StagePlain, w.Stage)
	require.EqualValues(t, 1000500, w.Generation, "settled before the first request")
	wait(t, "no error", func() bool { return f.Status()[0].ProbeError == "" })
}

func TestFleet_configurationOverridesTheEngine(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) {
		s.ServerInfo = `{"served_model_name":"m","disaggregation_mode":"decode"}`
		s.Models = `{"data":[{"id":"m"},{"id":"lora","parent":"m"}]}`
	})
	s := newSink()
	watch(t, s, nil, fmt.Sprintf("{id: a, address: %q, models: [own], role: prefill, draining: true, version_group: v7, services: [prod/p]}", e.Address()))
	wait(t, "described", func() bool { return len(s.worker("a").Adapters) == 1 })
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	w := s.worker("a")
	require.Equal(t, []string{"own"}, w.Models)
	require.Equal(t, core.StagePrefill, w.Stage)
	require.True(t, w.Draining)
	require.Equal(t, core.Adapter{Name: "lora", Base: "m"}, w.Adapters[0])
	require.Equal(t, "v7", w.Version)
	require.Equal(t, []string{"prod/p"}, w.Services)
}

func TestFleet_keepsWhatTheEngineSaidBefore(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) {
		s.ServerInfo = `{"served_model_name":"m","disaggregation_mode":"prefill"}`
	})
	s := newSink()
	f := watch(t, s, nil, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	e.Set(func(s *enginetest.State) { s.ServerInfo, s.Models = "garbage", "garbage" })
	asked := e.Calls("/v1/models")
	wait(t, "asked again", func() bool { return e.Calls("/v1/models") > asked+2 })
	require.Equal(t, core.StagePrefill, s.worker("a").Stage)
	require.True(t, s.worker("a").Aborts)
	require.Equal(t, []string{"m"}, s.worker("a").Models)
	require.Empty(t, f.Status()[0].DescribeError)
}

func TestFleet_saysWhatIsMissing(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Models, s.Metrics = "", "" })
	s := newSink()
	f := watch(t, s, nil, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	require.Contains(t, f.Status()[0].DescribeError, "models unknown, write models for this worker")
	require.Equal(t, "GET /metrics: status 404 Not Found", f.Status()[0].LoadError)
	_, ok := s.report("a")
	require.False(t, ok)
	e.Set(func(s *enginetest.State) { s.Metrics = "up 1\n" })
	wait(t, "page without load", func() bool {
		return f.Status()[0].LoadError == "the page holds no load metric of vLLM or SGLang"
	})
}

// Design section 5: a probe that times out is a hang only when nothing is being
// answered either.
func TestFleet_aBusyEngineIsNotHung(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	s.answering = true
	f := watch(t, s, nil, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	e.Set(func(s *enginetest.State) { s.Hang = true })
	wait(t, "busy", func() bool { return f.Counts().ProbesBusy >= 2 })
	require.True(t, s.worker("a").Healthy)
	require.Contains(t, f.Status()[0].ProbeError, "busy: ")

	s.mu.Lock()
	s.answering = false
	s.mu.Unlock()
	wait(t, "down", func() bool { return !s.worker("a").Healthy })
	e.Set(func(s *enginetest.State) { s.Hang = false })
	wait(t, "up again", func() bool { return s.worker("a").Healthy })
	require.EqualValues(t, 1000500, s.worker("a").Generation, "a hang is no restart")
	require.EqualValues(t, 1, f.Status()[0].Recoveries)
}

// A proxy's failed request brings the next probe forward, so that the other
// proxies need not find out for themselves.
func TestFleet_aFailedRequestIsProbedAtOnce(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	f := watchSlowly(t, s, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	probes := f.Counts().ProbesGood

	f.Suspect("a", time.Hour)
	f.Suspect("nobody", 0)
	e.Stop()
	require.Equal(t, probes, f.Counts().ProbesGood, "the failure is older than the last probe")
	f.Suspect("a", 0)
	wait(t, "down", func() bool { return !s.worker("a").Healthy })
}

func TestFleet_refusedConnectionIsDownAtOnceAndARestartWithoutStartTime(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Metrics = enginetest.VLLM(0, 0, 0, 0) })
	s := newSink()
	s.answering = true // does not excuse it
	watch(t, s, nil, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	require.EqualValues(t, 1, s.worker("a").Generation)
	e.Stop()
	wait(t, "down", func() bool { return !s.worker("a").Healthy })
	e.Restart()
	wait(t, "up again", func() bool { return s.worker("a").Healthy })
	require.EqualValues(t, 2, s.worker("a").Generation)
}

func TestFleet_restartBetweenTwoProbesBeginsANewLife(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	watch(t, s, nil, engine("a", e))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	e.Set(func(s *enginetest.State) {
		s.Metrics = enginetest.VLLM(0, 0, 0, 2000)
		s.Models = enginetest.Models("other")
	})
	wait(t, "new life", func() bool { return s.worker("a").Generation == 2000000 })
	wait(t, "described anew", func() bool { return s.worker("a").Models[0] == "other" })
}

// E14: an engine whose metrics page hangs is probed, described and routed to as
// any other; only its own load is unknown.
func TestFleet_E14_nothingWaitsForASlowScrape(t *testing.T) {
	slow, quick := enginetest.Start(t), enginetest.Start(t)
	slow.Set(func(s *enginetest.State) { s.Delay = time.Minute })
	s := newSink()
	f := watch(t, s, nil, engine("slow", slow), engine("quick", quick))
	began := time.Now()
	wait(t, "both up", func() bool { return s.worker("slow").Healthy && s.worker("quick").Healthy })
	require.Less(t, time.Since(began), 10*time.Second)
	wait(t, "quick is read", func() bool { _, ok := s.report("quick"); return ok })
	probed := slow.Calls("/health")
	wait(t, "slow is probed on", func() bool { return slow.Calls("/health") > probed+3 })
	_, ok := s.report("slow")
	require.False(t, ok)
	require.True(t, s.worker("slow").Healthy)
	require.NotEmpty(t, f.Status()[1].LoadError)
}

func TestFleet_disabledMetricsAreNotRead(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	watch(t, s, nil, fmt.Sprintf("{id: a, address: %q, metrics: {disabled: true}}", e.Address()))
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	require.Zero(t, e.Calls("/metrics"))
}

func TestFleet_resolvesNamesAndFollowsThem(t *testing.T) {
	e := enginetest.Start(t)
	_, port, _ := strings.Cut(e.Address(), ":")
	names := &resolver{}
	s := newSink()
	f := watch(t, s, names, "{id: a, address: 'engine.example:"+port+"'}")
	<-f.Ready()
	require.Empty(t, s.worker("a").Address, "not shown without an address")
	require.Equal(t, "no such host", f.Status()[0].ProbeError)

	names.set("::1", "127.0.0.1")
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	require.Equal(t, "127.0.0.1:"+port, s.worker("a").Address)
	names.set("0.0.0.1", "127.0.0.1")
	looked := e.Calls("/health")
	wait(t, "kept", func() bool { return e.Calls("/health") > looked+10 })
	require.Equal(t, "127.0.0.1:"+port, s.worker("a").Address, "an address that the name still has is kept")

	names.set() // trouble with DNS takes nothing away
	looked = e.Calls("/health")
	wait(t, "still probed", func() bool { return e.Calls("/health") > looked+10 })
	require.True(t, s.worker("a").Healthy)
}

func TestFleet_aNameThatMovesIsAnotherEngine(t *testing.T) {
	here := enginetest.Start(t)
	_, port, _ := strings.Cut(here.Address(), ":")
	there := enginetest.StartAt(t, "127.0.0.2:"+port)
	for _, e := range []*enginetest.Engine{here, there} {
		e.Set(func(s *enginetest.State) { s.Metrics = enginetest.VLLM(0, 0, 0, 0) })
	}
	names := &resolver{}
	names.set("127.0.0.1")
	s := newSink()
	watch(t, s, names, "{id: a, address: 'engine.example:"+port+"'}")
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	names.set("127.0.0.2")
	wait(t, "moved", func() bool { return s.worker("a").Address == there.Address() && s.worker("a").Generation == 2 })
	require.True(t, s.worker("a").Healthy)
	require.Positive(t, there.Calls("/health"))
}

func TestFleet_stopEndsEverythingWhileEnginesHang(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Hang, s.Delay = true, time.Minute })
	f := watch(t, newSink(), nil, engine("a", e))
	wait(t, "probing", func() bool { return e.Calls("/health") > 0 })
	f.Stop()
	calls := e.Calls("/health")
	require.Equal(t, calls, e.Calls("/health"))
}
