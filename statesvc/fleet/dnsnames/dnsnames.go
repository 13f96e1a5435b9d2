// Package dnsnames looks names up again and again; every address behind them is a
// worker.
//
// A lookup that fails or finds nothing changes nothing: what the name stood for last
// stays, and the fleet's own probes find out which of those engines are gone. Where a
// name has addresses of both families those of IPv4 are taken, so that an engine with
// one of each is one worker.
package dnsnames

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// lookupTimeout bounds one look at one name.
const lookupTimeout = 5 * time.Second

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// Options are a Watcher's facts. Config and Sink are required.
type Options struct {
	Config   config.DNSDiscovery
	Sink     claims.Sink
	Resolver Resolver       // default: the configured server's, else the system's
	Random   func() float64 // from 0 to below 1, for the jitter; default: a random source
}

// Watcher follows the names. Start and Stop are called once each.
type Watcher struct {
	o       Options
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	answers []answer // by name
	failed  string   // what the sink was told last
}

// answer is what is known of one name.
type answer struct {
	known  bool
	places []netip.AddrPort // sorted
	err    error            // of the last lookup
}

// New prepares a watcher. Nothing runs before Start.
func New(o Options) *Watcher {
	if o.Resolver == nil {
		o.Resolver = resolver(o.Config.Server)
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Watcher{o: o, stop: func() {}, answers: make([]answer, len(o.Config.Names))}
}

func resolver(server string) Resolver {
	if server == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
}

// Start begins to look up. The sink hears nothing before every name was found once: a
// part of the fleet is not the fleet.
func (w *Watcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	for i := range w.o.Config.Names {
		w.running.Go(func() { w.follow(ctx, i) })
	}
}

// Stop ends the lookups.
func (w *Watcher) Stop() {
	w.stop()
	w.running.Wait()
}

func (w *Watcher) follow(ctx context.Context, i int) {
	for {
		within, cancel := context.WithTimeout(ctx, lookupTimeout)
		places, err := w.lookup(within, &w.o.Config.Names[i])
		err = w.named(err)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.note(i, places, err)
		timer := time.NewTimer(w.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// wait is the interval with a tenth more or less.
func (w *Watcher) wait() time.Duration {
	return time.Duration(float64(w.o.Config.IntervalMillis.Duration()) * (0.9 + 0.2*w.o.Random()))
}

func (w *Watcher) lookup(ctx context.Context, n *config.DNSName) ([]netip.AddrPort, error) {
	if !n.SRV {
		return w.addresses(ctx, n.Host, n.Port)
	}
	_, records, err := w.o.Resolver.LookupSRV(ctx, "", "", n.Host)
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for _, r := range records {
		more, err := w.addresses(ctx, strings.TrimSuffix(r.Target, "."), r.Port)
		if err != nil {
			return nil, err // a part of the answer is none
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("lookup %s: no SRV records", n.Host)
	}
	return sorted(found), nil
}

func (w *Watcher) addresses(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	found, err := w.o.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var v4, v6 []netip.AddrPort
	for _, ip := range found {
		if ip = ip.Unmap().WithZone(""); ip.Is4() {
			v4 = append(v4, netip.AddrPortFrom(ip, port))
		} else {
			v6 = append(v6, netip.AddrPortFrom(ip, port))
		}
	}
	if len(v4) == 0 {
		v4 = v6
	}
	if len(v4) == 0 {
		return nil, fmt.Errorf("lookup %s: no addresses", host)
	}
	return sorted(v4), nil
}

// named puts the configured server into an error, where Go has the system's.
func (w *Watcher) named(err error) error {
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok || w.o.Config.Server == "" {
		return err
	}
	right := *dns
	right.Server = w.o.Config.Server
	return &right
}

func sorted(list []netip.AddrPort) []netip.AddrPort {
	slices.SortFunc(list, netip.AddrPort.Compare)
	return slices.Compact(list)
}

// note takes over an answer and tells the sink what changed by it.
func (w *Watcher) note(i int, places []netip.AddrPort, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &w.answers[i]
	changed := err == nil && !(a.known && slices.Equal(a.places, places))
	a.err = err
	if changed {
		a.known, a.places = true, places
	}
	failed := w.failure()
	if w.complete() && (changed || failed == nil && w.failed != "") {
		w.o.Sink.Say(claims.DNS, w.claims())
		w.failed = "" // for the sink it is over
	}
	if failed != nil && failed.Error() != w.failed {
		w.o.Sink.Failed(claims.DNS, failed)
		w.failed = failed.Error()
	}
}

func (w *Watcher) complete() bool {
	return !slices.ContainsFunc(w.answers, func(a answer) bool { return !a.known })
}

// failure joins what is wrong with names at present.
func (w *Watcher) failure() error {
	var all []error
	for i := range w.answers {
		if err := w.answers[i].err; err != nil {
			all = append(all, fmt.Errorf("%s: %w", w.o.Config.Names[i].Name, err))
		}
	}
	return errors.Join(all...)
}

// claims are the workers behind all names. An address behind two names is the first's.
func (w *Watcher) claims() []claims.Claim {
	byAddress := map[string]claims.Claim{}
	for i := range w.answers {
		n := &w.o.Config.Names[i]
		for _, at := range w.answers[i].places {
			key := at.Addr().String() + " " + strconv.Itoa(int(at.Port()))
			if _, taken := byAddress[key]; taken {
				continue
			}
			byAddress[key] = claims.Claim{Worker: config.Worker{
				Models: n.Models, Role: n.Role, VersionGroup: n.VersionGroup, Services: n.Services,
				Endpoint: config.Addressed(at.Addr().String(), at.Port()),
			}}
		}
	}
	list := make([]claims.Claim, 0, len(byAddress))
	for _, key := range slices.Sorted(maps.Keys(byAddress)) {
		list = append(list, byAddress[key])
	}
	return list
}
