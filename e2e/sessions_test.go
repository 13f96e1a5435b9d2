package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const boundModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}`

// patient has requests wait for the state service longer than any busy machine
// makes them: what lateness does is the flow's own test.
const patient = `,"observe_timeout_ms":10000,"bind_timeout_ms":10000`

// bound is two proxies of two workers each before eight engines, whose sessions
// are bound in one state service.
func bound(t *testing.T, h host, filter string, extra ...string) (one, other *rig) {
	t.Helper()
	s := setup{
		engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 8), filter: filter,
		extra: strings.Join(extra, ""), concurrency: 2, state: patient,
	}
	one = newRig(t, h, s)
	other = one.second(s)
	one.awaitWorkers()
	other.awaitWorkers()
	return one, other
}

// H05, H09, F01, F06: a session stays where its first request went, whichever
// proxy and worker its requests come by, and engines get even shares of sessions.
func TestSessions_stay_on_one_engine(t *testing.T) {
	const sessions, turns = 300, 6
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, boundModels)
			homes := make([]map[string]bool, sessions)
			var mu sync.Mutex
			for turn := range turns {
				many(sessions, 8, func(i int) string {
					proxy := one
					if (i+turn)%2 == 0 {
						proxy = other
					}
					home := proxy.chatWith("x-session-id", fmt.Sprint("chat-", i)).engine()
					mu.Lock()
					defer mu.Unlock()
					if homes[i] == nil {
						homes[i] = map[string]bool{}
					}
					homes[i][home] = true
					return home
				})
			}
			shares := map[string]int{}
			for i, home := range homes {
				require.Len(t, home, 1, "session %d", i)
				for engine := range home {
					require.NotEmpty(t, engine)
					shares[engine]++
				}
			}
			require.Len(t, shares, 8)
			for engine, n := range shares {
				require.Greater(t, n, sessions/8/3, "sessions of %s in %v", engine, shares)
			}
		})
	}
}

// Two first requests of one session race: both proxies and all workers agree.
func TestSessions_first_requests_converge(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, boundModels)
			for session := range 200 {
				key := fmt.Sprint("race-", session)
				counts := many(8, 8, func(i int) string {
					if i%2 == 0 {
						return one.chatWith("x-session-id", key).engine()
					}
					return other.chatWith("x-session-id", key).engine()
				})
				require.Len(t, counts, 1, "session %d", session)
			}
		})
	}
}

// A bound engine dies: its sessions get one new home each, and the others stay.
// Homes are what the filter chose. Until the proxies know of the death Envoy's own
// retries go to any engine, so where a request was answered says little.
func TestSessions_leave_a_dead_engine_together(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, boundModels, `"worker_header":true,`)
			const sessions = 40
			ask := func(r *rig, i int) answer { return r.chatWith("x-session-id", fmt.Sprint("s-", i)) }
			home := func(r *rig, i int) string { return ask(r, i).worker() }
			before := make([]string, sessions)
			for i := range sessions {
				before[i] = home(one, i)
			}
			dead := before[0]
			for _, e := range one.fleet.Engines() {
				if e.Name() == dead {
					e.Stop()
				}
			}
			// Each worker of each proxy learns of the death by itself, so a lap is right
			// when every request of it was sent where it was answered.
			one.eventually(func() bool {
				for i := range sessions {
					for range 4 {
						for _, r := range []*rig{one, other} {
							if a := ask(r, i); a.worker() == dead || a.worker() != a.engine() {
								return false
							}
						}
					}
				}
				return true
			}, "sessions are still sent to %s", dead)
			for i := range sessions {
				after := home(one, i)
				require.NotEqual(t, dead, after)
				require.Equal(t, after, home(other, i), "session %d", i)
				if before[i] != dead {
					require.Equal(t, before[i], after, "session %d had no reason to move", i)
				}
			}
		})
	}
}

// The state service is away: known sessions stay, new ones are placed by hash on
// both proxies alike, and nothing fails. Back up, nothing moves more than once.
func TestSessions_without_the_state_service(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, boundModels)
			home := func(r *rig, key string) string {
				a := r.chatWith("x-session-id", key)
				require.Equal(t, http.StatusOK, a.status, a.body)
				return a.engine()
			}
			known := map[string]string{}
			for i := range 20 {
				key := fmt.Sprint("known-", i)
				known[key] = home(one, key)
				// Every worker of both proxies comes to know the session.
				counts := many(32, 4, func(i int) string { return home([]*rig{one, other}[i%2], key) })
				require.Len(t, counts, 1)
			}
			one.state.stop()
			for i := range 20 {
				key := fmt.Sprint("new-", i)
				require.Equal(t, home(one, key), home(other, key), "a new session goes by hash")
			}
			// A worker that never saw a session goes by hash as well, so a known session
			// is at home or at its hash, and nowhere else.
			for key, at := range known {
				counts := many(16, 4, func(i int) string { return home([]*rig{one, other}[i%2], key) })
				require.LessOrEqual(t, len(counts), 2, key)
				require.NotZero(t, counts[at], "%s is remembered: %v", key, counts)
			}
			one.state.start()
			one.eventually(func() bool {
				for key := range known {
					counts := many(16, 4, func(i int) string { return home([]*rig{one, other}[i%2], key) })
					if len(counts) != 1 {
						return false
					}
				}
				return true
			}, "sessions do not converge")
		})
	}
}

// A sticky key with a fallback of its own, from the routing header; a request
// without one pins nothing.
func TestSticky_routing_keys(t *testing.T) {
	const models = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "sticky", "fallback": "round_robin"}}}}]}}`
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, other := bound(t, h, models)
			for i := range 16 {
				key := fmt.Sprint("tenant-", i)
				home := one.chatWith("x-sgl-routing-key", key).engine()
				require.Equal(t, home, other.chatWith("x-sgl-routing-key", key).engine())
			}
			require.Greater(t, len(many(32, 1, func(int) string { return one.chatWith().engine() })), 1)
		})
	}
}
