package fleet_test

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/stretchr/testify/require"
)

// dynamic runs a fleet without static workers until the test ends.
func dynamic(t *testing.T, s *sink, await ...claims.Source) *fleet.Fleet {
	t.Helper()
	cfg, err := config.Parse([]byte(strings.Replace(fast, "  static:\n", "", 1)+"discovery: {http: {enabled: true}}\n"), func(string) string { return "" })
	require.NoError(t, err)
	began := time.Now()
	f := fleet.New(fleet.Options{
		Config: cfg, Sink: s, Logger: slog.New(slog.DiscardHandler), Await: await,
		Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) },
	})
	f.Start()
	t.Cleanup(f.Stop)
	return f
}

func pod(e *enginetest.Engine, id, uid string) claims.Claim {
	at := netip.MustParseAddrPort(e.Address())
	return claims.Claim{Worker: config.Worker{ID: id, Endpoint: config.Addressed(at.Addr().String(), at.Port())}, Incarnation: uid}
}

func (s *sink) has(id core.WorkerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.workers[id]
	return ok
}

func TestFleet_followsItsSources(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	s := newSink()
	f := dynamic(t, s, claims.File, claims.DNS)
	f.Say(claims.File, []claims.Claim{pod(a, "a", "")})
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	select {
	case <-f.Ready():
		require.Fail(t, "a source is silent")
	default:
	}
	require.Equal(t, []fleet.SourceStatus{
		{Source: claims.Static, Heard: true, Good: 1},
		{Source: claims.File, Heard: true, Workers: 1, Good: 1},
		{Source: claims.DNS},
	}, f.Sources())
	f.Failed(claims.DNS, errors.New("no such host"))
	f.Say(claims.DNS, []claims.Claim{pod(b, "", ""), pod(a, "", "")})
	<-f.Ready()
	wait(t, "up", func() bool { return s.worker(core.WorkerID(b.Address())).Healthy })
	require.Len(t, f.Status(), 2)
	require.Equal(t, []claims.Source{claims.File, claims.DNS}, f.Status()[1].Said.Sources)

	f.Order([]string{"a", "nobody"})
	require.True(t, s.worker("a").Draining)
	require.True(t, s.worker("a").Healthy)
	f.Order(nil)
	require.False(t, s.worker("a").Draining)

	f.Say(claims.DNS, nil)
	require.False(t, s.has(core.WorkerID(b.Address())), "gone when Say returns")
	require.True(t, s.has("a"))
	calls := b.Calls("/health")
	f.Say(claims.File, nil)
	require.Empty(t, f.Status())
	require.LessOrEqual(t, b.Calls("/health"), calls+1, "nobody asks an engine that left")
	f.Suspect("a", 0)
}

func TestFleet_roleAndModelsChangeInPlace(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	f := dynamic(t, s)
	c := pod(e, "a", "uid")
	f.Say(claims.Kubernetes, []claims.Claim{c})
	wait(t, "up", func() bool { return s.worker("a").Healthy })
	before := s.worker("a")
	require.Equal(t, core.StagePlain, before.Stage)
	c.Worker.Role, c.Worker.Models, c.Worker.VersionGroup = "prefill", []string{"other"}, "v7"
	f.Say(claims.Kubernetes, []claims.Claim{c})
	after := s.worker("a")
	require.Equal(t, core.StagePrefill, after.Stage)
	require.Equal(t, []string{"other"}, after.Models)
	require.Equal(t, "v7", after.Version)
	require.Equal(t, before.Generation, after.Generation, "its requests are still in flight")
	require.True(t, after.Healthy)
	c.Unready = true
	f.Say(claims.Kubernetes, []claims.Claim{c})
	require.False(t, s.worker("a").Healthy)
	c.Unready = false
	f.Say(claims.Kubernetes, []claims.Claim{c})
	require.True(t, s.worker("a").Healthy)
	require.Empty(t, s.removed)
}

// An engine that flaps goes on with its generation, so that what contexts have in flight
// on it counts on; another pod begins a new one.
func TestFleet_generationsOutlastFlapping(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Metrics = enginetest.VLLM(0, 0, 0, 0) }) // no start time
	s := newSink()
	f := dynamic(t, s)
	up := func() { wait(t, "up", func() bool { return s.worker("a").Healthy }) }
	f.Say(claims.File, []claims.Claim{pod(e, "a", "")})
	up()
	e.Stop()
	wait(t, "down", func() bool { return !s.worker("a").Healthy })
	e.Restart()
	up()
	require.EqualValues(t, 2, s.worker("a").Generation)
	for range 5 {
		f.Say(claims.File, nil)
		require.False(t, s.has("a"))
		f.Say(claims.File, []claims.Claim{pod(e, "a", "")})
		require.EqualValues(t, 2, s.worker("a").Generation, "told with the first word already")
		up()
	}
	require.EqualValues(t, 2, s.worker("a").Generation)
	require.EqualValues(t, 1, f.Status()[0].Recoveries)

	f.Say(claims.File, []claims.Claim{pod(e, "a", "pod-1")})
	require.EqualValues(t, 2, s.worker("a").Generation, "a source that begins to tell is no evidence")
	f.Say(claims.File, []claims.Claim{pod(e, "a", "pod-2")})
	wait(t, "another pod", func() bool { g := s.worker("a").Generation; return s.worker("a").Healthy && g != 2 })
	second := s.worker("a").Generation
	f.Say(claims.File, nil)
	f.Say(claims.File, []claims.Claim{pod(e, "a", "pod-2")})
	up()
	require.Equal(t, second, s.worker("a").Generation)
}

// The same pod has the same generation for every replica and after every restart.
func TestFleet_podsAreNumberedAlikeEverywhere(t *testing.T) {
	e := enginetest.Start(t)
	one, other := newSink(), newSink()
	for _, s := range []*sink{one, other} {
		dynamic(t, s).Say(claims.Kubernetes, []claims.Claim{pod(e, "a", "uid")})
		wait(t, "up", func() bool { return s.worker("a").Healthy })
	}
	require.Equal(t, one.worker("a").Generation, other.worker("a").Generation)
	e.Set(func(s *enginetest.State) { s.Metrics = enginetest.VLLM(0, 0, 0, 2000) })
	before := one.worker("a").Generation
	wait(t, "a container that begins anew", func() bool { return one.worker("a").Generation != before })
	wait(t, "for the other too", func() bool { return one.worker("a").Generation == other.worker("a").Generation })
}

func TestFleet_anotherAddressIsAnotherEngine(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	for _, e := range []*enginetest.Engine{a, b} {
		e.Set(func(s *enginetest.State) { s.Metrics = enginetest.VLLM(0, 0, 0, 0) })
	}
	s := newSink()
	f := dynamic(t, s)
	f.Say(claims.File, []claims.Claim{pod(a, "x", "")})
	wait(t, "up", func() bool { return s.worker("x").Healthy })
	f.Say(claims.File, []claims.Claim{pod(b, "x", "")})
	require.Equal(t, b.Address(), s.worker("x").Address)
	wait(t, "up", func() bool { return s.worker("x").Healthy })
	require.EqualValues(t, 2, s.worker("x").Generation)
	require.Empty(t, s.removed, "the ID stays")
}

// Sources may speak at any time: while others do, before the start and after the end.
func TestFleet_sourcesSpeakAtOnce(t *testing.T) {
	e := enginetest.Start(t)
	s := newSink()
	f := dynamic(t, s)
	done := make(chan struct{})
	for _, source := range []claims.Source{claims.File, claims.HTTP, claims.DNS} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 50 {
				f.Say(source, []claims.Claim{pod(e, "", "")})
				f.Order([]string{e.Address()})
				_, _ = f.Find(core.WorkerID(e.Address()))
				_ = f.Status()
				f.Say(source, nil)
				f.Failed(source, errors.New("x"))
			}
		}()
	}
	for range 3 {
		<-done
	}
	require.Empty(t, f.Status())
	require.False(t, s.has(core.WorkerID(e.Address())))
	f.Stop()
	f.Say(claims.File, []claims.Claim{pod(e, "a", "")})
	require.Empty(t, f.Status())
}
