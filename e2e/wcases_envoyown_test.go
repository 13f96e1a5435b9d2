package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

// W10, W11: a state cluster that Envoy does not know, and one whose calls fail
// while they are made. Routing goes on, the log says so once, nothing is latched.
func TestW10_W11_envoy(t *testing.T) {
	for _, version := range envoytest.Versions() {
		for name, tc := range map[string]struct{ cluster, status string }{
			"W10 unknown":       {"nowhere", "bad argument"},
			"W11 fails at once": {"engines", "internal failure"}, // without an endpoint header it has no host
		} {
			t.Run(version+"/"+name, func(t *testing.T) {
				s := newStage(t, host{version, version, envoytest.OriginalDst}, stageSetup{
					watched: 2, setup: setup{filter: allModels}, cluster: tc.cluster,
				})
				s.fresh()
				for range 10 {
					require.Equal(t, http.StatusOK, s.post(smallChat).status)
				}
				s.eventually(func() bool { return count(s.traced, "proxy_http_call") > 5 }, "the call is not tried again")
				require.Equal(t, http.StatusOK, s.post(smallChat).status)
				require.LessOrEqual(t, strings.Count(s.log(), "cannot be reached: "), 2, "once by each of two contexts")
				require.Contains(t, s.log(), fmt.Sprintf("cluster %q takes no call: %s", tc.cluster, tc.status))
				require.NotContains(t, s.log(), "failed:", "the VM trapped")
			})
		}
	}
}

// W20: Envoy retries on the second engine that the filter named; the charge is
// there, and the first engine has none.
func TestW20_envoy(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			s := newStage(t, host{version, version, envoytest.OverrideHost}, stageSetup{
				watched: 2, quiet: true, setup: setup{filter: allModels, extra: `"transport_retry":true,`},
			})
			arrived, release := make(chan struct{}, 1), make(chan struct{})
			s.engines[0].play(func(http.ResponseWriter, arrival) { panic(http.ErrAbortHandler) })
			s.engines[1].play(func(w http.ResponseWriter, a arrival) {
				arrived <- struct{}{}
				<-release
				plainAnswer(w, a)
			})
			s.arrivals()
			// Round robin: one of two requests is for the engine that resets.
			done := make(chan map[string]int)
			go func() { done <- many(2, 2, func(int) string { return s.post(smallChat).engine() }) }()
			<-arrived
			<-arrived
			// Envoy tells the filter of the retry with the answer, so the move is seen then.
			close(release)
			require.Equal(t, map[string]int{"engine-1": 2}, <-done)
			s.eventually(func() bool { return s.counter("pointsman_pick_replaced_total") == 1 }, "the pick is not replaced")
			require.Len(t, s.arrivals(), 3)
			s.awaitInflight(0)
		})
	}
}

// W25: 3,000 requests at once on the shipped bootstrap, whose breakers are above
// Envoy's default of 1,024.
func TestW25_envoy(t *testing.T) {
	const n = 3000
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			s := newStage(t, host{version, version, envoytest.OverrideHost}, stageSetup{
				watched: 4, quiet: true, setup: setup{filter: allModels},
			})
			var there atomic.Int64
			all, starting := make(chan struct{}), make(chan struct{}, 64)
			s.play(func(w http.ResponseWriter, a arrival) {
				if there.Add(1) == n {
					close(all)
				}
				<-starting
				select {
				case <-all:
				case <-a.gone:
				case <-time.After(100 * time.Second): // fail with a count, not with a hang
				}
				plainAnswer(w, a)
			})
			// All are in flight together, but no more than 64 are on their way to an
			// engine: what is tested is not how fast the machine takes connections.
			counts := many(n, n, func(int) string {
				select {
				case starting <- struct{}{}:
				case <-time.After(100 * time.Second):
				}
				return s.outcome(smallChat)
			})
			require.Equal(t, map[string]int{"ok": n}, counts)
			require.EqualValues(t, n, there.Load())
			s.awaitInflight(0)
		})
	}
}
