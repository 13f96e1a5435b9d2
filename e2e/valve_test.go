package e2e

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// valve is a TCP proxy that can hold back all it carries, as a peer that hangs does:
// connections are taken and stay open, and nothing comes.
type valve struct {
	addr   string
	target string

	mu     sync.Mutex
	closed chan struct{} // while it is shut; closed when it opens
	conns  []net.Conn
	done   bool
	wg     sync.WaitGroup
}

func newValve(t testing.TB, target string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	v := &valve{addr: l.Addr().String(), target: target}
	v.wg.Go(func() { v.accept(l) })
	t.Cleanup(func() { _ = l.Close(); v.stop() })
	return v
}

func (v *valve) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", v.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		if !v.keep(in, out) {
			return
		}
		v.wg.Go(func() { v.carry(out, in) })
		v.wg.Go(func() { v.carry(in, out) })
	}
}

// keep notes connections to close, or closes them when it is too late for that.
func (v *valve) keep(conns ...net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, conns...)
	if v.done {
		closeAll(conns)
	}
	return !v.done
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// carry copies one way. The end of one way ends the other.
func (v *valve) carry(to, from net.Conn) {
	defer closeAll([]net.Conn{to, from})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		v.wait()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits while the valve is shut.
func (v *valve) wait() {
	v.mu.Lock()
	closed := v.closed
	v.mu.Unlock()
	if closed != nil {
		<-closed
	}
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = make(chan struct{})
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed != nil {
		close(v.closed)
		v.closed = nil
	}
}

func (v *valve) stop() {
	v.open()
	v.mu.Lock()
	v.done = true
	closeAll(v.conns)
	v.mu.Unlock()
	v.wg.Wait()
}
