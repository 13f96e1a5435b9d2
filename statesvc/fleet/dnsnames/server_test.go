package dnsnames_test

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/statesvc/fleet/claims/claimstest"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers over UDP on loopback until the test ends.
type nameServer struct {
	mu    sync.Mutex
	hosts map[string][]netip.Addr
	srv   map[string][]dnsmessage.SRVResource
	sick  bool // answers with a server failure
}

func (s *nameServer) change(f func(*nameServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *nameServer) start(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply, err := s.answer(buffer[:n]); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn.LocalAddr().String()
}

func (s *nameServer) answer(query []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	q := m.Questions[0]
	add := func(body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: body})
	}
	name := q.Name.String()
	switch {
	case s.sick:
		m.RCode = dnsmessage.RCodeServerFailure
	case q.Type == dnsmessage.TypeSRV:
		for _, r := range s.srv[name] {
			add(&r)
		}
	default:
		for _, ip := range s.hosts[name] {
			if ip.Is4() && q.Type == dnsmessage.TypeA {
				add(&dnsmessage.AResource{A: ip.As4()})
			}
			if ip.Is6() && q.Type == dnsmessage.TypeAAAA {
				add(&dnsmessage.AAAAResource{AAAA: ip.As16()})
			}
		}
	}
	if len(m.Answers) == 0 && !s.sick && s.hosts[name] == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
	return m.Pack()
}

func addrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, a := range list {
		out[i] = netip.MustParseAddr(a)
	}
	return out
}

// The configured server is asked with real messages, as a headless Service's would be.
func TestWatcher_asksARealNameServer(t *testing.T) {
	s := &nameServer{hosts: map[string][]netip.Addr{}, srv: map[string][]dnsmessage.SRVResource{}}
	s.hosts["engines.test."] = addrs("10.0.0.2", "10.0.0.1")
	s.hosts["pod-6.test."] = addrs("fd00::6")
	s.srv["_http._tcp.pods.test."] = []dnsmessage.SRVResource{{Priority: 1, Weight: 1, Port: 7000, Target: dnsmessage.MustNewName("pod-6.test.")}}
	cfg := names(t, "{names: [{name: 'engines.test.:8000'}, {name: _http._tcp.pods.test., srv: true}]}")
	cfg.Server = s.start(t)
	sink := watch(t, cfg, nil)
	sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000", "[fd00::6]:7000")

	s.change(func(s *nameServer) { s.sick = true })
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) > 0 }, sink.Errors)
	s.change(func(s *nameServer) { s.sick = false; delete(s.hosts, "engines.test.") })
	claimstest.Eventually(t, func() bool {
		return slices.ContainsFunc(sink.Errors(), func(e string) bool {
			return e == "engines.test.:8000: lookup engines.test. on "+cfg.Server+": no such host"
		})
	}, sink.Errors)
	require.Equal(t, []string{"10.0.0.1:8000", "10.0.0.2:8000", "[fd00::6]:7000"}, sink.Addresses())
	s.change(func(s *nameServer) { s.hosts["engines.test."] = addrs("10.0.0.3") })
	sink.Await(t, "10.0.0.3:8000", "[fd00::6]:7000")
}
