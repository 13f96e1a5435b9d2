package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a call's body in bytes; reports are far smaller.
const maxBody = 1 << 20

// Observer is told what reaches the state service and when, by call and in the
// order of events for each call. Calls of different numbers come concurrently.
type Observer interface {
	// Arrived: a call was read, whatever becomes of it.
	Arrived(n uint64, body []byte)
	// Delivering: it is about to be passed on. A duplicate is passed on twice.
	Delivering(n uint64)
	// Delivered: it was answered with the status; 0 is a failure.
	Delivered(n uint64, status int)
}

// Options describe a Proxy. Target is required.
type Options struct {
	Target   string        // ip:port of the state service
	Seed     uint64        // of all faults
	Weights  map[Fault]int // how often each fault is drawn; none means Pass only
	Only     []string      // paths of the calls that meet faults; none means all
	MaxDelay time.Duration // of Delay
	MaxHold  int           // deliveries that Reorder lets pass by; 1 at least
	Observer Observer      // may be nil
}

// Proxy is a running fault proxy. It is safe for concurrent use.
type Proxy struct {
	options  Options
	weights  []int
	listener net.Listener
	server   *http.Server
	client   *http.Transport
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	serving  sync.WaitGroup
	handling sync.WaitGroup
	calls    atomic.Uint64
	calm     atomic.Bool
	counts   [faultCount]atomic.Int64

	mu   sync.Mutex
	held []heldCall // of Reorder, oldest first
	last answer     // the first one to be repeated by Stale
}

// call is a request as it was read.
type call struct {
	n      uint64
	path   string
	header http.Header
	body   []byte
}

// heldCall waits until so many others have been delivered.
type heldCall struct {
	call
	others int
}

// answer is a whole answer of the state service.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// Start listens on a loopback port and serves in the background until Close.
func Start(o Options) (*Proxy, error) {
	if o.Target == "" {
		return nil, errors.New("target: give the address of the state service")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{options: o, listener: listener, client: &http.Transport{}, weights: weigh(o.Weights)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.serving.Go(func() {
		// Serve always ends with an error: the closed listener.
		_ = p.server.Serve(listener)
	})
	return p, nil
}

// Addr is the ip:port to give to the filter.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Calm lets every later call pass. Calls held for reordering are still delivered
// when their turn comes.
func (p *Proxy) Calm() { p.calm.Store(true) }

// Calls counts the calls that arrived.
func (p *Proxy) Calls() uint64 { return p.calls.Load() }

// Counts tells how often each fault was met.
func (p *Proxy) Counts() map[Fault]int64 {
	counts := map[Fault]int64{}
	for f := range p.counts {
		if n := p.counts[f].Load(); n > 0 {
			counts[Fault(f)] = n
		}
	}
	return counts
}

// Close ends everything and returns when nothing runs any more.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.server.Close()
	p.serving.Wait()
	p.handling.Wait()
	p.client.CloseIdleConnections()
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.handling.Add(1)
	defer p.handling.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	c := call{n: p.calls.Add(1), path: r.URL.RequestURI(), header: r.Header, body: body}
	if o := p.options.Observer; o != nil {
		o.Arrived(c.n, c.body)
	}
	drawn := draw(p.options.Seed, c.n, p.weights, p.options.MaxDelay, p.options.MaxHold)
	if only := p.options.Only; p.calm.Load() || len(only) > 0 && !slices.Contains(only, r.URL.Path) {
		drawn.fault = Pass
	}
	p.counts[drawn.fault].Add(1)
	p.meet(w, r, &c, drawn)
}
