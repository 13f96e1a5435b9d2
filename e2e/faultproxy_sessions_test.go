package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/e2e/faultproxy"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// askedBriefly bounds what a call that is never answered costs its request.
const askedBriefly = `,"observe_timeout_ms":500,"bind_timeout_ms":500`

// weathered are two proxies before four engines whose calls about sessions go
// through one fault proxy for observes and one for binds.
type weathered struct {
	*sessions
	observes, binds *faultproxy.Proxy
}

func newWeathered(t *testing.T, h host) *weathered {
	t.Helper()
	fleet, err := fakes.StartFleet(fakes.Replicate(fakes.Config{Models: []string{"m"}, Slots: 64}, 4)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	b := &backend{fleet: fleet, state: newState(t, fleet)}
	b.state.file += unhurried
	b.state.start()
	seed := seedOf(t)
	w := &weathered{observes: weather(t, b.state.addr, wire.ObservePath, seed)}
	w.binds = weather(t, w.observes.Addr(), wire.BindPath, seed+1)
	s := frontSetup{models: boundModels, sync: askedBriefly, state: w.binds.Addr()}
	w.sessions = &sessions{backend: b, t: t, one: b.newFront(t, h, s), other: b.newFront(t, h, s)}
	w.settled()
	return w
}

// weather has the calls of one path meet every fault there is.
func weather(t *testing.T, target, path string, seed uint64) *faultproxy.Proxy {
	t.Helper()
	weights := map[faultproxy.Fault]int{}
	for _, f := range faultproxy.Faults() {
		weights[f] = 1
	}
	weights[faultproxy.Pass] = 8
	p, err := faultproxy.Start(faultproxy.Options{
		Target: target, Seed: seed, Weights: weights, Only: []string{path}, MaxDelay: 800 * time.Millisecond, MaxHold: 5,
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// met reports whether observes and binds have met every fault.
func (w *weathered) met() bool {
	all := len(faultproxy.Faults())
	return len(w.observes.Counts()) == all && len(w.binds.Counts()) == all
}

// Whatever becomes of observes and binds, and of their answers, every request is
// answered by an engine: a call that never ends by itself is given up at its
// deadline. Once calls go through again each session has one engine on both proxies
// and one binding, those whose binds were lost, doubled or came late included.
func TestFaultProxy_sessions_have_one_engine_in_the_end(t *testing.T) {
	const clients = 16
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			w := newWeathered(t, h)
			keys := named("old", clients)
			answers := map[string]int{}
			// Sessions that begin have binds, those that go on have observes.
			for lap := 0; lap < 4 || !w.met() && lap < 60; lap++ {
				keys = append(keys, named(fmt.Sprint("lap-", lap), 4)...)
				recent := slices.Concat(keys[:clients], keys[len(keys)-clients:])
				for outcome, n := range many(len(recent), clients, func(i int) string {
					a := w.fronts()[(i+lap)%2].chatWith("x-session-id", recent[i])
					if a.status != http.StatusOK || a.engine() == "" {
						return fmt.Sprintf("%d %s", a.status, a.body)
					}
					return "ok"
				}) {
					answers[outcome] += n
				}
			}
			require.Equal(t, []string{"ok"}, slices.Collect(maps.Keys(answers)), "%v", answers)
			require.True(t, w.met(), "not every fault was met: %v, %v", w.observes.Counts(), w.binds.Counts())
			t.Logf("%d requests of %d sessions, observes %v, binds %v", answers["ok"], len(keys), w.observes.Counts(), w.binds.Counts())

			w.observes.Calm()
			w.binds.Calm()
			homes := w.settleSlowly(keys)
			for turn := range 4 {
				for _, key := range keys {
					require.Equal(t, homes[key], w.home(turn, key), "%s, turn %d", key, turn)
				}
			}
			require.Equal(t, len(keys), w.state.metric("pointsman_state_bindings"))
			for _, f := range w.fronts() {
				f.awaitInflight(0)
				f.eventually(func() bool { return f.counter(countRouted) == f.counter(countReleased) }, "routed and released differ")
			}
		})
	}
}
