package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// oneEnvoy are the newest Envoy and hostsim.
func oneEnvoy() []host {
	return []host{
		{"envoy-1.40.0", "1.40.0", envoytest.OverrideHost},
		{"hostsim", "", envoytest.OverrideHost},
	}
}

// chatWith sends a small chat with further headers.
func (r *rig) chatWith(header ...string) answer {
	r.t.Helper()
	h := jsonHeader()
	for i := 0; i < len(header); i += 2 {
		// Not Set: the case is the client's.
		h[header[i]] = []string{header[i+1]}
	}
	return r.do(http.MethodPost, "/v1/chat/completions", h, strings.NewReader(chatBody("m", 100)))
}

// awaitWorkers waits until every worker of the proxy knows the fleet: new
// connections, spread over all of them, find it routing many times in a row.
func (r *rig) awaitWorkers() {
	r.t.Helper()
	r.eventually(func() bool {
		for range 24 {
			a := r.do(http.MethodGet, "/v1/models", http.Header{"Connection": {"close"}}, nil)
			if a.status != http.StatusOK || !strings.Contains(a.body, `"id"`) {
				return false
			}
		}
		return true
	}, "not every worker routes")
}

// second is another proxy of the same kind before the same engines and the same
// state service.
func (r *rig) second(s setup) *rig {
	r.t.Helper()
	other := *r
	other.startProxy(s)
	return &other
}

const sessionModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session"}}}}]}}`

// H05, H09: a session has one engine, whichever proxy, worker or spelling of the
// header it comes by.
func TestConsistentHash_sessions_stick_over_two_proxies(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 4), filter: sessionModels, concurrency: 2}
			one := newRig(t, h, s)
			other := one.second(s)
			one.awaitWorkers()
			other.awaitWorkers()
			engines := map[string]bool{}
			for session := range 12 {
				key := fmt.Sprint("chat-", session)
				home := one.chatWith("x-session-id", key).engine()
				require.NotEmpty(t, home)
				engines[home] = true
				counts := many(16, 2, func(i int) string {
					if i%2 == 0 {
						return one.chatWith("X-Session-ID", key).engine()
					}
					return other.chatWith("x-sEsSiOn-iD", key).engine()
				})
				require.Equal(t, map[string]int{home: 16}, counts, key)
			}
			require.Greater(t, len(engines), 1)

			// Without a key requests still spread.
			spread := many(64, 1, func(int) string { return one.chatWith().engine() })
			require.Greater(t, len(spread), 1)
		})
	}
}

const leastModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "load_based"}}}}]}}`

// Three engines of four are busy: the idle one gets what comes, one at a time.
func TestLoadBased_prefers_the_idle_engine(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 4), filter: leastModels})
			r.awaitWorkers()
			served := make(chan string, 4)
			busy := map[string]*fakes.Engine{}
			for _, e := range r.fleet.Engines() {
				e.Hang(fakes.HangInference)
			}
			for range 3 {
				go func() { served <- r.chatWith().engine() }()
			}
			r.eventually(func() bool {
				for _, e := range r.fleet.Engines() {
					if e.Counters().Received > 0 {
						busy[e.Name()] = e
					}
				}
				return len(busy) == 3
			}, "three requests do not reach three engines")
			var idle *fakes.Engine
			for _, e := range r.fleet.Engines() {
				if busy[e.Name()] == nil {
					idle = e
				}
			}
			require.NoError(t, idle.Heal())
			for range 20 {
				require.Equal(t, idle.Name(), r.chatWith().engine())
			}
			for _, e := range busy {
				require.NoError(t, e.Heal())
			}
			for range 3 {
				require.NotEmpty(t, <-served)
			}
		})
	}
}

// sloModels has a cheap bucket on one engine and a fast one on another.
const sloModels = `{"m": {"ttft_slo": "slo_first", "buckets": [
	{"id": "slow", "limits": {"max": 4000}, "ttft_ms": 3000, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "random"}}}},
	{"id": "fast", "ttft_ms": 200, "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "random"}}}}
]}}`

// A target moves a request to the bucket that meets it; one that makes no sense
// is refused, and that of a preference that is off is not even read.
func TestSLO_header_orders_buckets(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 2), filter: sloModels})
			r.awaitWorkers()
			require.Equal(t, "engine-0", r.chatWith().engine())
			require.Equal(t, "engine-1", r.chatWith("X-SGL-TTFT-SLO-ms", "500").engine())
			require.Equal(t, "engine-0", r.chatWith("x-sgl-ttft-slo-ms", "5000").engine())
			r.requireRefused(r.chatWith("x-sgl-ttft-slo-ms", "9300000000000"), 400, "bad_request")
			require.Equal(t, "engine-0", r.chatWith("x-sgl-tps-slo", "fast").engine())
		})
	}
}
