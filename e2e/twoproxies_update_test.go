package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
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
			t.Parallel()
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

// updateClients are the ways in which clients hold connections over an update.
//
// An Envoy whose listener is replaced drains the former one: with the immediate
// strategy each HTTP/1 answer on its connections says "connection: close", and when
// the drain time is over it closes whatever connections are left, idle or not. A
// client that sends its next request before that time is over thus leaves by itself
// and loses nothing. One that was idle for all of it can send into the closing
// connection, and an answer that takes longer than the drain time is cut. Both are
// Envoy's rules, whatever its filters are; its drain time is 600 s unless it is set.
// So the kept-alive clients here have one connection each and use it all the time.
var updateClients = map[string]struct {
	bootstrap envoytest.Bootstrap
	keepAlive bool
}{
	"as shipped, kept-alive connections": {envoytest.OverrideHost, true},
	"nothing retried, a connection each": {envoytest.OriginalDst, false},
}

// Configurations come and go under load, refused ones between them, and the old
// contexts are torn down meanwhile: no request fails, and each is counted once.
func TestTwoProxies_update_under_load(t *testing.T) {
	for name, kind := range updateClients {
		for _, version := range envoytest.Versions() {
			t.Run(name+"/"+version, func(t *testing.T) {
				updateUnderLoad(t, host{version, version, kind.bootstrap}, kind.keepAlive)
			})
		}
	}
}

func updateUnderLoad(t *testing.T, h host, keepAlive bool) {
	const clients, updates = 12, 6
	b := newBackend(t, namedEngines(3, "m", "next-0", "next-1", "next-2", "next-3", "next-4", "next-5"))
	// A short drain tears old configurations down during the test.
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
	l := u.connected(clients, keepAlive)
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
	t.Logf("%v, %d connections, %d samples", l.counts(), l.connections.Load(), w.samples)
	if keepAlive {
		require.Less(t, l.connections.Load(), int64(l.counts()["ok"])/2, "connections are not kept alive")
		require.Greater(t, l.connections.Load(), int64(clients), "nobody was asked to leave")
	}
	require.Contains(t, u.log(), "models.m.buckets", "the log does not say what is wrong with a refused update")
	u.awaitInflight(0)
	u.eventually(func() bool { return b.contexts() == 1 }, "old contexts do not go away")
	// The load's requests, and one for each update that was found in force.
	u.requireSettled(toll{}, int64(l.counts()["ok"]+updates), 0)
}

// connectedLoad is a load whose connections are counted.
type connectedLoad struct {
	clients     []*load
	connections atomic.Int64
}

// connected starts a load of clients with a connection each, kept alive or made for
// each request.
func (r *rig) connected(clients int, keepAlive bool) *connectedLoad {
	l := &connectedLoad{}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.connections.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	for range clients {
		own := *r
		own.client = &http.Client{Timeout: r.client.Timeout, Transport: &http.Transport{
			DialContext: dial, MaxConnsPerHost: 1, DisableKeepAlives: !keepAlive,
		}}
		r.t.Cleanup(own.client.CloseIdleConnections)
		l.clients = append(l.clients, own.load(1))
	}
	return l
}

// counts are the answers of all clients.
func (l *connectedLoad) counts() map[string]int {
	all := map[string]int{}
	for _, c := range l.clients {
		for outcome, n := range c.counts() {
			all[outcome] += n
		}
	}
	return all
}

func (l *connectedLoad) stop() {
	for _, c := range l.clients {
		c.stop()
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
