package envoytest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lender lends Envoys to the tests of a process, one test after the other. Nearly
// all that the start of an Envoy costs is the compiling of the module, six seconds of a
// core, so an Envoy that has done so is kept for the next test.
//
// What a test sees of it is its own: the shipped listener and clusters with the test's
// ports, endpoints and filter, which come by files, VMs that were started for it, its
// part of the log, and counters from zero. An Envoy goes back when nothing of its test
// is left in it, and is ended when the test failed.
//
// The zero value is ready. It may be used by several tests at a time.
type Lender struct {
	mu   sync.Mutex
	idle map[string][]*lent // by what they were started with
}

// Lend gives an Envoy that serves what the options say until the test ends. Traced
// Envoys are not lent: theirs would not be the only calls in the trace.
func (l *Lender) Lend(t testing.TB, o Options) *Envoy {
	t.Helper()
	require.False(t, o.Trace, "an Envoy that is traced must be a test's own")
	addr := FreePort(t)
	if o.State == "" {
		o.State = FreePort(t)
	}
	p, err := takeApart(o, addr)
	require.NoError(t, err)
	kind, err := p.kind(o)
	require.NoError(t, err)
	e := l.take(kind)
	if e == nil {
		e, err = startLent(t, o, p)
		require.NoError(t, err)
	}
	t.Cleanup(func() { l.takeBack(t, kind, e) })
	err = e.serve(p)
	require.NoError(t, err, "%s", e.Log())
	served := *e.Envoy
	served.addr = addr
	return &served
}

// takeBack keeps an Envoy for the next test. One that still runs something of a test
// that is over is a fault.
func (l *Lender) takeBack(t testing.TB, kind string, e *lent) {
	t.Helper()
	if t.Failed() || e.Exited() {
		e.end()
		return
	}
	if err := e.clear(); err != nil {
		e.end()
		t.Errorf("an envoy keeps something of its test: %v\n%s", err, e.Log())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = map[string][]*lent{}
	}
	l.idle[kind] = append(l.idle[kind], e)
}

func (l *Lender) take(kind string) *lent {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.idle[kind]
	if len(list) == 0 {
		return nil
	}
	l.idle[kind] = list[:len(list)-1]
	return list[len(list)-1]
}

// Close ends all Envoys. No test may have one any more.
func (l *Lender) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.idle {
		for _, e := range list {
			e.end()
		}
	}
	l.idle = nil
}
