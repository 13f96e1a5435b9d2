package dnsnames_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims/claimstest"
	"github.com/pointsman/pointsman/statesvc/fleet/dnsnames"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// zone answers from a table that tests change.
type zone struct {
	mu    sync.Mutex
	hosts map[string][]string
	srv   map[string][]*net.SRV
	asked map[string]int
}

func (z *zone) set(host string, addresses ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.hosts[host] = addresses
}

func (z *zone) calls(host string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked[host]
}

func (z *zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked[host]++
	found, ok := z.hosts[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	list := make([]netip.Addr, len(found))
	for i, a := range found {
		list[i] = netip.MustParseAddr(a)
	}
	return list, nil
}

func (z *zone) LookupSRV(_ context.Context, _, _, name string) (string, []*net.SRV, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	found, ok := z.srv[name]
	if !ok {
		return "", nil, errors.New("no such name")
	}
	return name, found, nil
}

func newZone() *zone {
	return &zone{hosts: map[string][]string{}, srv: map[string][]*net.SRV{}, asked: map[string]int{}}
}

// names are settings as a file has them.
func names(t *testing.T, text string) config.DNSDiscovery {
	t.Helper()
	cfg, err := config.Parse([]byte("version: 1\ndiscovery: {dns: "+text+"}"), func(string) string { return "" })
	require.NoError(t, err)
	cfg.Discovery.DNS.IntervalMillis = 5
	return cfg.Discovery.DNS
}

func watch(t *testing.T, cfg config.DNSDiscovery, r dnsnames.Resolver) *claimstest.Sink {
	t.Helper()
	sink := &claimstest.Sink{}
	w := dnsnames.New(dnsnames.Options{Config: cfg, Sink: sink, Resolver: r})
	w.Start()
	t.Cleanup(w.Stop)
	return sink
}

func TestWatcher_everyAddressIsAWorker(t *testing.T) {
	z := newZone()
	z.set("e", "10.0.0.2", "10.0.0.1", "10.0.0.2", "::ffff:10.0.0.3", "fd00::1")
	sink := watch(t, names(t, "{names: [{name: 'e:8000', models: [m], role: decode, services: [p/e]}]}"), z)
	sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000")
	w := sink.List()[0].Worker
	require.Equal(t, []string{"m"}, w.Models)
	require.Equal(t, "decode", w.Role)
	require.Equal(t, []string{"p/e"}, w.Services)
	require.Empty(t, w.ID)
	z.set("e", "fd00::2", "fd00::1")
	sink.Await(t, "[fd00::1]:8000", "[fd00::2]:8000")
	said := sink.Said()
	calls := z.calls("e")
	claimstest.Eventually(t, func() bool { return z.calls("e") > calls+3 }, sink.Said)
	require.Equal(t, said, sink.Said(), "the same answer is not told again")
}

func TestWatcher_failuresKeepTheLastAnswer(t *testing.T) {
	z := newZone()
	z.set("e", "10.0.0.1")
	sink := watch(t, names(t, "{names: [{name: 'e:8000'}, {name: 'f:9000'}]}"), z)
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) > 0 && z.calls("e") > 3 }, sink.Errors)
	require.Zero(t, sink.Said(), "not before every name was found")
	require.Equal(t, []string{"f:9000: no such host"}, sink.Errors(), "told once")
	z.set("f", "10.0.0.9")
	sink.Await(t, "10.0.0.1:8000", "10.0.0.9:9000")

	z.set("e")
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) == 2 }, sink.Errors)
	require.Equal(t, "e:8000: lookup e: no addresses", sink.Errors()[1])
	z.set("f", "10.0.0.8")
	sink.Await(t, "10.0.0.1:8000", "10.0.0.8:9000")
	said := sink.Said()
	z.set("e", "10.0.0.1")
	claimstest.Eventually(t, func() bool { return sink.Said() > said }, sink.Said)
	require.Equal(t, []string{"10.0.0.1:8000", "10.0.0.8:9000"}, sink.Addresses(), "said again, so that the failure is over")
}

func TestWatcher_SRV(t *testing.T) {
	z := newZone()
	z.srv["_h._tcp.e"] = []*net.SRV{{Target: "a.e.", Port: 1000}, {Target: "b.e.", Port: 2000}}
	z.set("a.e", "10.0.0.1")
	sink := watch(t, names(t, "{names: [{name: _h._tcp.e, srv: true}]}"), z)
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) > 0 }, sink.Errors)
	require.Zero(t, sink.Said(), "a part of the answer is none")
	z.set("b.e", "10.0.0.2")
	sink.Await(t, "10.0.0.1:1000", "10.0.0.2:2000")
}

// Two names for one engine are one worker, and the first name speaks for it.
func TestWatcher_twoNamesOfOneAddress(t *testing.T) {
	z := newZone()
	z.set("a", "10.0.0.1")
	z.set("b", "10.0.0.1")
	sink := watch(t, names(t, "{names: [{name: 'a:1', role: prefill}, {name: 'b:1', role: decode}]}"), z)
	sink.Await(t, "10.0.0.1:1")
	require.Equal(t, "prefill", sink.List()[0].Worker.Role)
}

func TestWatcher_stopEndsALookupThatHangs(t *testing.T) {
	hang := hanging{begun: make(chan struct{})}
	w := dnsnames.New(dnsnames.Options{Config: names(t, "{names: [{name: 'e:1'}]}"), Sink: &claimstest.Sink{}, Resolver: hang})
	w.Start()
	<-hang.begun
	began := time.Now()
	w.Stop()
	require.Less(t, time.Since(began), 4*time.Second)
}

type hanging struct{ begun chan struct{} }

func (h hanging) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	close(h.begun)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h hanging) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, errors.New("not asked for")
}
