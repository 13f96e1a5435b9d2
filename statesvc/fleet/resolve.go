package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// lookupTimeout bounds one name lookup.
const lookupTimeout = 2 * time.Second

// refreshAddress looks the engine's name up when that is due. A failed lookup
// keeps the address known so far; without one it is the probe's error.
func (m *member) refreshAddress(ctx context.Context) error {
	host := m.cfg.Endpoint.Host
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	m.mu.Lock()
	known, due := m.address, time.Since(m.resolvedAt) >= m.resolve
	m.mu.Unlock()
	if known.IsValid() && !due {
		return nil
	}
	var found []netip.Addr
	err := within(ctx, lookupTimeout, func(ctx context.Context) (err error) {
		found, err = m.resolver.LookupNetIP(ctx, "ip", host)
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("lookup %s: no addresses", host)
	}
	if err != nil {
		if known.IsValid() {
			return nil
		}
		return err
	}
	m.settle(choose(found, known.Addr()))
	return nil
}

// choose keeps the present address while the name still has it; else it takes
// the smallest, IPv4 first, so that every replica chooses alike.
func choose(found []netip.Addr, present netip.Addr) netip.Addr {
	for i := range found {
		found[i] = found[i].Unmap().WithZone("")
	}
	if present.IsValid() && slices.Contains(found, present) {
		return present
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return found[0]
}

// settle takes over a looked-up address. Another address is another engine: it
// is brought up anew.
func (m *member) settle(ip netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := netip.AddrPortFrom(ip, m.cfg.Endpoint.Port)
	m.resolvedAt = time.Now()
	if fresh == m.address {
		return
	}
	if m.address.IsValid() {
		m.log.Info("engine moved", "from", m.address.String(), "to", fresh.String())
		m.moved = true
		m.client.Close()
	}
	m.address = fresh
	m.publish()
}
