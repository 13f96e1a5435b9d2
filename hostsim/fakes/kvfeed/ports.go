package kvfeed

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// Listen opens n neighbouring ports of a host, one per rank (fixtures/README.md section 2).
// A base of 0 takes any that are free; the base is told.
func Listen(host string, base, n int) (list []net.Listener, port int, err error) {
	const tries = 100
	for range tries {
		list, port, err = row(host, base, n)
		if err == nil || base != 0 {
			return list, port, err
		}
	}
	return nil, 0, fmt.Errorf("no %d neighbouring ports are free on %s: %w", n, host, err)
}

func row(host string, base, n int) (list []net.Listener, port int, err error) {
	var lc net.ListenConfig
	for i := range n {
		at := base
		if base != 0 {
			at = base + i
		}
		l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(at)))
		if err != nil {
			for _, l := range list {
				_ = l.Close()
			}
			return nil, 0, err
		}
		if base == 0 {
			base = l.Addr().(*net.TCPAddr).Port
		}
		list = append(list, l)
	}
	return list, base, nil
}
