package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/faultproxy"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// badWeather draws each fault often enough to be met in a hundred calls, and
// leaves enough of them alone for contexts to stay alive at times.
func badWeather() map[faultproxy.Fault]int {
	weights := map[faultproxy.Fault]int{}
	for _, f := range faultproxy.Faults() {
		weights[f] = 2
	}
	weights[faultproxy.Pass] = 12
	weights[faultproxy.Reorder], weights[faultproxy.Duplicate] = 8, 4
	weights[faultproxy.HalfOpen] = 1 // costs the time-out of a call, a second
	return weights
}

// Whatever becomes of reports and answers on their way, requests are served, no
// total is above what its reports can have known, and once calls go through
// again the totals are the truth (field report F05).
func TestFaultProxy_totals_are_never_above_the_truth(t *testing.T) {
	const clients, calls = 12, 160
	for _, h := range mixedHosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed, book := seedOf(t), newLedger()
			b := newBackend(t, fireEngines(3))
			weather, err := faultproxy.Start(faultproxy.Options{
				Target: b.state.addr, Seed: seed, Weights: badWeather(), MaxDelay: 400 * time.Millisecond, MaxHold: 5, Observer: book,
			})
			require.NoError(t, err)
			t.Cleanup(weather.Close)
			f := b.newFront(t, h, frontSetup{models: allModels, sync: quickSync, state: weather.Addr()})

			w := watchTotalsWith(t, b.state, book.judge)
			stop := f.waves(book, seed, clients)
			require.Eventually(t, func() bool {
				return weather.Calls() >= calls && len(weather.Counts()) == len(faultproxy.Faults())
			}, 3*time.Minute, 20*time.Millisecond, "the filter stopped calling: %v\n%s", lazy(func() string { return fmt.Sprint(weather.Counts()) }), lazy(f.log))
			weather.Calm()
			counts := stop()
			w.stop()
			require.Equal(t, []string{"ok"}, slices.Collect(maps.Keys(counts)), "%v", counts)
			require.Empty(t, book.faults)
			t.Logf("%d requests, %d samples, %v", counts["ok"], w.samples, weather.Counts())
			f.requireTruth()
		})
	}
}

// waves sends streams that begin together, waits until all have ended, and goes
// on after a pause, so that the truth moves between nothing and all clients: a
// report that is applied late or twice then shows. The ledger is told of each
// stream. Only its last chunk ends it, which the proxy sends when the filter has
// released its charge.
func (f *front) waves(book *ledger, seed uint64, clients int) (stop func() map[string]int) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	counts := map[string]int{}
	wg.Go(func() {
		draw := rand.New(rand.NewPCG(seed, 0))
		for ctx.Err() == nil {
			tokens := 20 + draw.IntN(300)
			wave := many(1+draw.IntN(clients), clients, func(int) string { return f.counted(book, tokens) })
			for key, n := range wave {
				counts[key] += n
			}
			pauseFor(ctx, time.Duration(draw.IntN(400))*time.Millisecond)
		}
	})
	stop = sync.OnceValue(func() map[string]int {
		cancel()
		wg.Wait()
		return counts
	})
	f.t.Cleanup(func() { stop() })
	return stop
}

// counted sends one stream of so many tokens, a millisecond each.
func (f *front) counted(book *ledger, tokens int) string {
	var answered atomic.Int64
	book.begun.Add(1)
	defer book.ended.Add(1)
	return f.follow(context.Background(), fmt.Sprintf(`{"model":"m","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hi"}]}`, tokens), &answered)
}

// requireTruth compares the totals with what is known to be in flight: nothing,
// some requests, nothing again.
func (f *front) requireTruth() {
	f.t.Helper()
	f.awaitInflight(0)
	f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangInference) })
	held := f.hold(7, chatBody("m", 50))
	f.awaitInflight(7)
	f.awaitSyncs()
	total, ok := f.state.total()
	require.True(f.t, ok)
	require.EqualValues(f.t, 7, total)
	f.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangNothing) })
	require.Equal(f.t, map[string]int{"ok": 7}, held.outcomes())
	f.awaitInflight(0)
	f.eventually(func() bool { return f.counter(countRouted) == f.counter(countReleased) }, "routed and released differ")
}
