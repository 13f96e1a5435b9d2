package fakes

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// process is one life of an engine, from Start to Stop.
type process struct {
	cfg    Config
	names  *nameTable
	faults *faultSwitch
	rec    *recorder
	addr   string
	start  time.Time
	life   int // ordinal of the process, part of its ids

	ranks    []*scheduler
	totals   totals
	inflight *inflightTable
	kv       *prefixCache // nil without Config.KV
	ordinal  atomic.Uint64
	nextRank atomic.Uint64
	server   *http.Server
	routes   map[string]route
	engineID []string // header value, shared by all replies

	alive context.Context // of the process
	end   context.CancelFunc

	doors    sync.WaitGroup // accept loops
	conns    sync.WaitGroup // open connections
	handlers sync.WaitGroup
	listener net.Listener // guarded by Engine.life, as is refusing
	refusing bool
}

// totals are the counters of one process, exported as metrics.
type totals struct {
	promptTokens, outputTokens          atomic.Int64
	stopped, lengthEnded, aborted, shed atomic.Int64
	prefillBusy                         atomic.Int64 // nanoseconds
	openRequests                        atomic.Int64 // inference requests in flight
}

func newProcess(e *Engine, addr string, start time.Time) *process {
	p := &process{
		cfg: e.cfg, names: newNameTable(e.cfg), faults: e.faults, rec: e.rec, addr: addr, start: start, life: e.starts,
		inflight: newInflightTable(), engineID: []string{e.cfg.Name},
	}
	p.alive, p.end = context.WithCancel(context.Background())
	for range e.cfg.Ranks {
		p.ranks = append(p.ranks, newScheduler(e.cfg))
	}
	p.routes = p.newRoutes()
	p.server = &http.Server{Handler: p, ConnState: p.countConn}
	return p
}

func (p *process) serve(ln net.Listener) {
	p.listener = ln
	p.refusing = false
	p.doors.Go(func() {
		// Serve always ends with an error: the closed listener of Stop or Refuse.
		_ = p.server.Serve(ln)
	})
}

// closeDoor stops accepting. Connections close as they become idle, since a client would otherwise not notice.
func (p *process) closeDoor() {
	p.refusing = true
	_ = p.listener.Close()
	p.server.SetKeepAlivesEnabled(false)
	p.doors.Wait()
}

func (p *process) openDoor() error {
	ln, err := listen(p.addr)
	if err != nil {
		return err
	}
	p.server.SetKeepAlivesEnabled(true)
	p.serve(ln)
	return nil
}

// kill closes everything and waits for it. Connections go first: a handler that gives up must not get an answer out.
func (p *process) kill() {
	_ = p.server.Close()
	p.doors.Wait()
	_ = p.server.Close() // a connection accepted during the first Close is known only by now
	p.end()              // no closed connection ends an orphan
	p.conns.Wait()
	p.handlers.Wait()
	p.kv.close()
}

func (p *process) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.conns.Done()
	case http.StateActive, http.StateIdle:
	}
}

// newID returns the hex part of an id: a function of seed, process and order of arrival.
func (p *process) newID() uint64 {
	const golden = 0x9e3779b97f4a7c15 // splitmix64
	z := p.cfg.Seed + golden*(uint64(p.life)<<40+p.ordinal.Add(1))
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
