package kvfeed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports that nobody asked for are taken from here: below those that systems give to
// clients, so that a publisher that starts anew finds its own free.
const (
	firstPort = 12_000
	lastPort  = 31_000
)

// Listen opens n neighbouring ports of a host, one per rank (fixtures/README.md section 2).
// A base of 0 takes any that are free; the base is told.
func Listen(host string, base, n int) (list []net.Listener, port int, err error) {
	if base != 0 {
		list, err = row(host, base, n)
		return list, base, err
	}
	if n >= lastPort-firstPort {
		return nil, 0, fmt.Errorf("%d neighbouring ports are more than there are; use fewer ranks", n)
	}
	const tries = 200
	for range tries {
		base = firstPort + rand.IntN(lastPort-firstPort-n)
		if list, err = row(host, base, n); err == nil {
			return list, base, nil
		}
	}
	return nil, 0, fmt.Errorf("no %d neighbouring ports are free on %s: %w", n, host, err)
}

func row(host string, base, n int) (list []net.Listener, err error) {
	var lc net.ListenConfig
	for i := range n {
		l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(base+i)))
		if err != nil {
			for _, l := range list {
				_ = l.Close()
			}
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}
