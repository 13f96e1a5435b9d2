package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// pairs are an Envoy and another one beside it, each version in each place.
func pairs() map[string][2]host {
	newest, oldest := envoytest.Newest(), envoytest.Oldest()
	at := func(version string) host { return host{version, version, envoytest.OverrideHost} }
	return map[string][2]host{
		newest + " sees " + oldest: {at(oldest), at(newest)},
		oldest + " sees " + newest: {at(newest), at(oldest)},
	}
}

// A cap on in-flight requests that one proxy has reached stops the other; when
// the first proxy is killed, its share is gone and the second serves again
// (field reports A42, F01, F06).
func TestTwoProxies_share_a_cap_until_one_is_killed(t *testing.T) {
	const capped = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy":
		{"type": "round_robin", "admission": {"max_inflight_requests": 7}}}}}]}}`
	for name, pair := range pairs() {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, fireEngines(1))
			first := b.newFront(t, pair[0], frontSetup{models: capped})
			second := b.newFront(t, pair[1], frontSetup{models: capped})
			b.fleet.Engines()[0].Hang(fakes.HangInference)
			own := second.hold(3, chatBody("m", 50))
			second.awaitInflight(3)
			first.eventually(func() bool { return first.engineInflight() == 3 }, "the second proxy's requests are not there")
			first.hold(4, chatBody("m", 50))
			began := time.Now()
			second.awaitInflight(7)
			second.eventually(func() bool { return second.refusedByAdmission() }, "the second proxy does not see the first one's requests")
			t.Logf("seen after %v", time.Since(began).Round(10*time.Millisecond))
			second.requireAllRefused(20)
			first.requireAllRefused(20)

			began = time.Now()
			first.envoy.Kill()
			second.awaitInflight(3)
			t.Logf("the killed proxy's share is gone after %v", time.Since(began).Round(10*time.Millisecond))
			b.fleet.Engines()[0].Hang(fakes.HangNothing)
			require.Equal(t, map[string]int{"ok": 3}, own.outcomes())
			second.eventually(func() bool { return second.chat("m", 50).status == http.StatusOK }, "the second proxy still refuses")
			second.awaitInflight(0)
		})
	}
}

// refusedByAdmission tries one request, which hangs in the engine if it is
// admitted.
func (f *front) refusedByAdmission() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/chat/completions", strings.NewReader(chatBody("m", 50)))
	require.NoError(f.t, err)
	req.Header = jsonHeader()
	resp, err := f.client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.Header.Get("x-router-error-code") == "policy_selection_failed"
}

// requireAllRefused sends requests none of which may reach an engine.
func (f *front) requireAllRefused(n int) {
	f.t.Helper()
	f.eventually(f.refusedByAdmission, "the proxy admits requests above the cap")
	before := f.toll().Received
	for range n {
		f.requireRefused(f.chat("m", 50), http.StatusServiceUnavailable, "policy_selection_failed")
	}
	require.Equal(f.t, before, f.toll().Received)
}

// power_of_two in one proxy avoids the engine that another proxy has filled.
func TestTwoProxies_balance_by_each_others_requests(t *testing.T) {
	const models = `{
		"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
		"pinned": {"buckets": [{"id": "all", "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "round_robin"}}}}]}
	}`
	engines := fireEngines(2)
	for i := range engines {
		engines[i].Models = []string{"m", "pinned"}
	}
	for name, pair := range pairs() {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, engines)
			first := b.newFront(t, pair[0], frontSetup{models: models})
			second := b.newFront(t, pair[1], frontSetup{models: models})
			b.fleet.Engines()[0].Hang(fakes.HangInference)
			held := first.hold(10, chatBody("pinned", 50))
			second.awaitEngine("engine-0", 10)
			second.awaitSyncs()
			for range 50 {
				require.Equal(t, "engine-1", second.chat("m", 50).engine())
			}
			b.fleet.Engines()[0].Hang(fakes.HangNothing)
			require.Equal(t, map[string]int{"ok": 10}, held.outcomes())
			second.awaitInflight(0)
		})
	}
}
