package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// updatable is a front whose filter configuration can be replaced.
type updatable struct {
	*front
	dynamic *envoytest.Dynamic
	setup   frontSetup
}

func (b *backend) newUpdatable(t testing.TB, h host, flags ...string) *updatable {
	t.Helper()
	u := &updatable{front: b.bareFront(t, h), setup: frontSetup{models: allModels, state: b.state.addr}}
	u.dynamic = envoytest.StartDynamic(t, b.envoyOptions(t, h, u.setup), flags...)
	u.useEnvoy(u.dynamic.Envoy)
	u.awaitModels()
	return u
}

// offer gives Envoy a configuration and waits until it has judged it.
func (u *updatable) offer(models string) (taken bool) {
	u.t.Helper()
	wereTaken, wereRefused, err := u.dynamic.Updates()
	require.NoError(u.t, err)
	s := u.setup
	s.models = models
	u.dynamic.Write(u.t, []byte(s.filter(u.host)))
	u.eventually(func() bool {
		nowTaken, nowRefused, err := u.dynamic.Updates()
		taken = nowTaken > wereTaken
		return err == nil && (taken || nowRefused > wereRefused)
	}, "Envoy does not look at the new listener")
	return taken
}

// renamed routes the model by an alias that tells configurations apart.
func renamed(alias string) string {
	return fmt.Sprintf(`{"m": {"aliases": [%q], "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}`, alias)
}

// updateHosts are the Envoys, in the mode where nothing is retried: a request
// that an update breaks fails.
func updateHosts() []host {
	var list []host
	for _, version := range envoytest.Versions() {
		list = append(list, host{version, version, envoytest.OriginalDst})
	}
	return list
}

func namedEngines(n int, names ...string) []fakes.Config {
	engines := fireEngines(n)
	for i := range engines {
		engines[i].Models = names
	}
	return engines
}

// Requests that the former configuration sent stay counted, once, next to those
// of its successor, until each has ended.
func TestTwoProxies_update_keeps_what_is_in_flight(t *testing.T) {
	for _, h := range updateHosts() {
		t.Run(h.name, func(t *testing.T) {
			b := newBackend(t, namedEngines(2, "m", "next"))
			u := b.newUpdatable(t, h)
			u.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangInference) })
			former := u.hold(8, chatBody("m", 50))
			u.awaitInflight(8)
			require.True(t, u.offer(renamed("next")))
			// A connection of its own: one of the old configuration keeps it.
			u.client.CloseIdleConnections()
			u.awaitInflight(8)
			latter := u.hold(5, chatBody("next", 50))
			u.awaitInflight(13)
			u.awaitSyncs()
			total, ok := b.state.total()
			require.True(t, ok)
			require.EqualValues(t, 13, total)

			u.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangNothing) })
			require.Equal(t, map[string]int{"ok": 8}, former.outcomes())
			require.Equal(t, map[string]int{"ok": 5}, latter.outcomes())
			u.awaitInflight(0)
		})
	}
}

// Configurations come and go under load, refused ones between them, and the old
// contexts are torn down meanwhile: no request fails, and each is counted once.
func TestTwoProxies_update_under_load(t *testing.T) {
	const clients, updates = 12, 6
	for _, h := range updateHosts() {
		t.Run(h.name, func(t *testing.T) {
			b := newBackend(t, namedEngines(3, "m", "next-0", "next-1", "next-2", "next-3", "next-4", "next-5"))
			// A short drain tears old configurations down during the test. Each request
			// takes a connection of its own: one that is kept alive may be sent on as
			// its drain ends, which is Envoy's doing and no matter of the filter.
			u := b.newUpdatable(t, h, "--drain-time-s", "5", "--drain-strategy", "immediate")
			u.client.Transport.(*http.Transport).DisableKeepAlives = true
			w := watchTotals(t, b.state, func(total uint64) string {
				// Configurations report apart: one may still show what the clients had
				// there at its last report, and the present one what they have.
				if total > 2*(clients+1) {
					return fmt.Sprintf("%d in flight for %d clients", total, clients)
				}
				return ""
			})
			l := u.load(clients)
			for i := range updates {
				alias := fmt.Sprintf("next-%d", i)
				require.True(t, u.offer(renamed(alias)))
				u.eventually(func() bool { return u.outcome(chatBody(alias, 50)) == "ok" }, "the update is not in force")
				require.False(t, u.offer(`{"m": {"buckets": []}}`), "Envoy took a broken configuration")
				served := l.counts()["ok"]
				u.eventually(func() bool { return l.counts()["ok"] > served+100 }, "the load stands still")
			}
			l.stop()
			w.stop()
			require.Len(t, l.counts(), 1, "%v", l.counts())
			t.Logf("%v, %d samples", l.counts(), w.samples)
			require.Contains(t, u.log(), "models.m.buckets", "the log does not say what is wrong with a refused update")
			u.awaitInflight(0)
			u.eventually(func() bool { return b.contexts() == 1 }, "old contexts do not go away")
			// The load's requests, and one for each update that was found in force.
			u.requireSettled(toll{}, int64(l.counts()["ok"]+updates), 0)
		})
	}
}

// contexts counts the live filter contexts that the state service knows.
func (b *backend) contexts() int {
	b.state.t.Helper()
	var doc struct{ Contexts int }
	resp, err := http.Get("http://" + b.state.addr + "/v1/workers")
	require.NoError(b.state.t, err)
	defer resp.Body.Close()
	require.NoError(b.state.t, json.NewDecoder(resp.Body).Decode(&doc))
	return doc.Contexts
}
