package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const (
	abortedClients  = 100
	upstreamResets  = 50
	patientBreaker  = `"breaker":{"threshold":1000000},` // resets on purpose must not take engines out
	quickSync       = `,"sync_interval_ms":50`           // four times the pace of the default
	chargedHeaders  = "POST /v1/chat/completions HTTP/1.1\r\nhost: pointsman\r\ncontent-type: application/json\r\n"
	interimResponse = "HTTP/1.1 100 Continue\r\n\r\n"
)

// chargeEngines stream slowly enough to be caught in the middle.
func chargeEngines(n int) []fakes.Config {
	return fakes.Replicate(fakes.Config{
		Models: []string{"m"}, MaxModelLen: 1 << 20, Slots: 256, DecodePerToken: 50 * time.Millisecond,
	}, n)
}

// Whenever clients leave or engines break off, each charge is released exactly
// once (W06, W07; field reports A07, A46, A47).
func TestCharges_are_released_once_in_every_phase(t *testing.T) {
	phases := []struct {
		name string
		run  func(*front) (routed, replaced int64)
	}{
		{"client leaves before its headers end", leaveInHeaders},
		{"client leaves while its body is awaited", leaveInBody},
		{"client leaves before the response headers", leaveUnanswered},
		{"client leaves mid-stream", leaveMidStream},
		{"engine resets before the response headers", resetUnanswered},
		{"engine resets mid-stream", resetMidStream},
	}
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			f := newBackend(t, chargeEngines(3)).newFront(t, h, frontSetup{models: allModels, extra: patientBreaker, sync: quickSync})
			for _, phase := range phases {
				before := f.toll()
				t.Log(phase.name)
				routed, replaced := phase.run(f)
				f.requireSettled(before, routed, replaced)
			}
		})
	}
}

// leaveInHeaders: no stream has begun in the proxy.
func leaveInHeaders(f *front) (routed, replaced int64) {
	require.Equal(f.t, map[string]int{"left": abortedClients}, many(abortedClients, 10, func(i int) string {
		return leftOr(f.leaveAfter(i, chargedHeaders+"x-unfinished: ", "", ""))
	}))
	return 0, 0
}

// leaveInBody: the interim response tells that the proxy has taken the headers,
// so that the filter holds the request when the client leaves.
func leaveInBody(f *front) (routed, replaced int64) {
	head := chargedHeaders + "content-length: 1000\r\nexpect: 100-continue\r\n\r\n"
	require.Equal(f.t, map[string]int{"left": abortedClients}, many(abortedClients, 10, func(i int) string {
		return leftOr(f.leaveAfter(i, head, interimResponse, `{"model":"m",`))
	}))
	return 0, 0
}

func leftOr(err error) string {
	if err != nil {
		return err.Error()
	}
	return "left"
}

func leaveUnanswered(f *front) (routed, replaced int64) {
	f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangInference) })
	h := f.hold(abortedClients, longStream)
	f.eventually(func() bool { return f.engineInflight() == abortedClients }, "the engines do not get the requests")
	f.awaitInflight(abortedClients)
	h.leave()
	require.Equal(f.t, map[string]int{"cut": abortedClients}, h.outcomes())
	require.Zero(f.t, h.answered.Load())
	f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangNothing) })
	return abortedClients, 0
}

func leaveMidStream(f *front) (routed, replaced int64) {
	h := f.hold(abortedClients, longStream)
	f.eventually(func() bool { return h.answered.Load() == abortedClients }, "the streams do not begin")
	f.awaitInflight(abortedClients)
	h.leave()
	require.Equal(f.t, map[string]int{"cut": abortedClients}, h.outcomes())
	return abortedClients, 0
}

// resetUnanswered: where the host retries, one engine of three resets and the
// charge moves with the request to the engine that answers. Elsewhere all
// engines reset; hostsim is among them, since it retries only what could not
// connect.
func resetUnanswered(f *front) (routed, replaced int64) {
	short := strings.Replace(longStream, "8000", "2", 1)
	if retryWhere(f.host) == "" || f.sim != nil {
		f.eachEngine(func(e *fakes.Engine) { e.CutMidStream(0) })
		counts := many(upstreamResets, 10, func(int) string { return f.outcome(short) })
		require.Equal(f.t, map[string]int{"503 Service Unavailable": upstreamResets}, counts)
		f.eachEngine(func(e *fakes.Engine) { e.CutMidStream(-1) })
		return upstreamResets, 0
	}
	broken := f.engine(0)
	before := broken.Counters().Failed
	broken.CutMidStream(0)
	sent := upstreamResets * len(f.fleet.Engines())
	counts := many(sent, 10, func(int) string { return f.outcome(short) })
	require.Equal(f.t, map[string]int{"ok": sent}, counts)
	broken.CutMidStream(-1)
	replaced = broken.Counters().Failed - before
	require.GreaterOrEqual(f.t, replaced, int64(upstreamResets), "round robin did not visit the engine that resets")
	return int64(sent), replaced
}

func resetMidStream(f *front) (routed, replaced int64) {
	f.eachEngine(func(e *fakes.Engine) { e.CutMidStream(5) })
	counts := many(upstreamResets, 10, func(int) string { return f.outcome(longStream) })
	require.Equal(f.t, map[string]int{"cut": upstreamResets}, counts)
	f.eachEngine(func(e *fakes.Engine) { e.CutMidStream(-1) })
	return upstreamResets, 0
}

func (f *front) eachEngine(do func(*fakes.Engine)) {
	for _, e := range f.fleet.Engines() {
		do(e)
	}
}

// mixedHosts are the newest and the oldest Envoy, in a mode each, and hostsim.
func mixedHosts() []host {
	newest, oldest := envoytest.Newest(), envoytest.Oldest()
	return []host{
		{"envoy-" + newest + "/override-host", newest, envoytest.OverrideHost},
		{"envoy-" + oldest + "/original-dst", oldest, envoytest.OriginalDst},
		{"hostsim/override-host", "", envoytest.OverrideHost},
	}
}

// An engine that leaves the fleet and comes back finds the requests it still
// has; those that ended meanwhile are gone (field report A50).
func TestCharges_outlast_a_removal(t *testing.T) {
	for _, h := range mixedHosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, chargeEngines(2))
			f := b.newFront(t, h, frontSetup{models: allModels, sync: quickSync})
			before := f.toll()
			f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangInference) })
			held := f.hold(10, chatBody("m", 50))
			f.awaitEngine("engine-0", 5)
			f.awaitEngine("engine-1", 5)

			b.refleet(f.engine(1))
			f.awaitEngine("engine-1", 5)
			f.awaitSyncs()
			b.refleet(f.engine(0), f.engine(1))
			f.awaitEngine("engine-0", 5)
			f.awaitEngine("engine-1", 5)

			b.refleet(f.engine(1))
			f.awaitEngine("engine-1", 5)
			f.awaitSyncs()
			f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangNothing) })
			require.Equal(t, map[string]int{"ok": 10}, held.outcomes())
			f.awaitEngine("engine-1", 0)
			b.refleet(f.engine(0), f.engine(1))
			f.awaitSyncs()
			f.requireSettled(before, 10, 0)
		})
	}
}

// A process that took over the engine's address starts at zero, and what its
// predecessor finishes afterwards changes nothing (field report A41).
func TestCharges_of_a_former_life_are_ignored(t *testing.T) {
	for _, h := range mixedHosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			f := newBackend(t, chargeEngines(1)).newFront(t, h, frontSetup{models: allModels, sync: quickSync})
			former := f.engine(0)
			former.Hang(fakes.HangInference)
			late := f.hold(5, chatBody("m", 50))
			f.awaitEngine("engine-0", 5)

			require.NoError(t, former.Refuse(true)) // its requests go on
			present, err := fakes.New(former.Config())
			require.NoError(t, err)
			require.NoError(t, present.Start(former.Addr()))
			t.Cleanup(present.Stop)
			present.Hang(fakes.HangInference)
			f.awaitEngine("engine-0", 0)
			f.awaitSyncs()
			held := f.hold(3, chatBody("m", 50))
			f.awaitEngine("engine-0", 3)

			former.Hang(fakes.HangNothing)
			require.Equal(t, map[string]int{"ok": 5}, late.outcomes())
			f.eventually(func() bool { return f.counter(countReleased) == 5 }, "the late releases are not counted")
			f.awaitSyncs()
			counts, err := f.state.inflight()
			require.NoError(t, err)
			require.EqualValues(t, 3, counts["engine-0"], "a late release of the former life was taken off the present one")

			present.Hang(fakes.HangNothing)
			require.Equal(t, map[string]int{"ok": 3}, held.outcomes())
			f.awaitEngine("engine-0", 0)
			f.eventually(func() bool { return f.counter(countReleased) == 8 }, "the releases are not counted")
			require.EqualValues(t, 8, f.counter(countRouted))
		})
	}
}

// Engines come, go and die under load: what is shown in flight stays between
// nothing and the clients there are, and ends at nothing.
func TestCharges_survive_churn(t *testing.T) {
	const clients = 16
	for _, h := range mixedHosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, fireEngines(3))
			f := b.newFront(t, h, frontSetup{models: allModels, sync: quickSync})
			most := uint64(clients)
			if f.sim != nil {
				most *= 2 // hostsim tells the filter of an end after the client has seen it
			}
			w := watchTotals(t, b.state, func(total uint64) string {
				if total > most {
					return fmt.Sprintf("%d in flight for %d clients", total, clients)
				}
				return ""
			})
			l := f.load(clients)
			for round := range 3 {
				b.churn(f, l, round)
			}
			l.stop()
			w.stop()
			require.Positive(t, l.counts()["ok"])
			t.Logf("%v, %d samples", l.counts(), w.samples)
			f.awaitInflight(0)
			f.eventually(func() bool { return f.counter(countRouted) == f.counter(countReleased) }, "routed and released differ")
			f.awaitSyncs()
			require.Equal(t, f.counter(countRouted), f.counter(countReleased))
		})
	}
}

// churn removes one engine, brings it back, kills it and starts it again.
func (b *backend) churn(f *front, l *load, round int) {
	more := func() {
		served := l.counts()["ok"]
		f.eventually(func() bool { return l.counts()["ok"] > served+100 }, "the load stands still")
	}
	all := f.fleet.Engines()
	victim := all[round%len(all)]
	var others []*fakes.Engine
	for _, e := range all {
		if e != victim {
			others = append(others, e)
		}
	}
	b.refleet(others...)
	more()
	b.refleet(all...)
	more()
	victim.Stop()
	more()
	require.NoError(f.t, victim.Start(""))
	f.eventually(func() bool { return b.state.workers()[victim.Name()].Healthy }, "not found up")
	victim.Reset()
	f.eventually(func() bool { return victim.Counters().Received > 0 }, "a restarted engine serves nothing")
}
