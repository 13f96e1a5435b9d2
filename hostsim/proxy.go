package hostsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Proxy is a streaming HTTP/1.1 reverse proxy with a filter in it. Each worker has a VM of its own; a connection, or
// a request that comes in through ServeHTTP alone, is served by one worker from beginning to end. It is safe for
// concurrent use.
type Proxy struct {
	config    ProxyConfig
	log       *slog.Logger
	module    *Module
	ownModule bool
	workers   []*Worker
	next      atomic.Uint64
	clusters  map[string]*cluster
	upstream  *cluster
	callouts  *clusterCallouts
	streams   *clusterStreams
	ids       *requestIDs
	noHostAt  atomic.Int64 // of the last warning, ns since 1970

	server   *http.Server
	listener net.Listener
	serving  sync.WaitGroup
	requests sync.WaitGroup
	stopOnce sync.Once
	stopErr  error
}

// NewProxy loads the filter, tries it on a canary VM and starts the workers. Stop must be called, also when Start is
// not. The error is one line per problem.
func NewProxy(config ProxyConfig) (*Proxy, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	p := &Proxy{config: config.withDefaults(), clusters: map[string]*cluster{}}
	p.log = p.config.Logger
	for _, spec := range config.Clusters {
		c, err := newCluster(spec)
		if err != nil {
			return nil, err
		}
		p.clusters[spec.Name] = c
	}
	p.upstream = p.clusters[config.Upstream]
	p.callouts, p.streams = newClusterCallouts(p.clusters), newClusterStreams(p.clusters)
	p.ids = newRequestIDs(seeded(config.Seed, requestIDStream))
	ctx := context.Background()
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop(ctx))
	}
	return p, nil
}

func (p *Proxy) start(ctx context.Context) error {
	if p.module = p.config.Module; p.module == nil {
		b, err := p.config.moduleBytes()
		if err != nil {
			return err
		}
		m, err := Load(ctx, b, ModuleOptions{Profile: p.config.Profile, Cache: p.config.Cache})
		if err != nil {
			return fmt.Errorf("filter: %w", err)
		}
		p.module, p.ownModule = m, true
	}
	if err := p.module.Canary(ctx, p.vmOptions(0)); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	for i := range p.config.VMs {
		w, err := p.module.NewWorker(ctx, p.vmOptions(i+1))
		if err != nil {
			return fmt.Errorf("filter: %w", err)
		}
		p.workers = append(p.workers, w)
	}
	return nil
}

// vmOptions are the settings of the VM with that number; the canary is 0.
func (p *Proxy) vmOptions(number int) VMOptions {
	c := &p.config
	return VMOptions{
		PluginName: c.PluginName, VMID: c.VMID, PluginConfig: c.FilterConfig, VMConfig: c.VMConfig, Env: c.Env,
		AllowOnHeadersStopIteration: c.HeaderPause, BodyLimit: c.BodyLimit,
		StreamIdleTimeout: max(c.StreamIdleTimeout, 0), OnFailure: c.OnFailure, Host: c.Host,
		Clock: c.Clock, Random: seeded(c.Seed, number), Callouts: p.callouts, GRPC: p.streams,
		Log: SlogSink(p.log.With("vm", number)), Trace: c.Trace,
	}
}

type workerKey struct{}

// Start listens on addr ("host:port", port 0 for any) and serves in the background.
func (p *Proxy) Start(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p.listener = l
	p.server = &http.Server{
		Handler:  p,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, workerKey{}, p.nextWorker())
		},
	}
	p.serving.Go(func() {
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("listener failed", "error", err)
		}
	})
	return nil
}

// Addr returns the address of Start's listener, nil before.
func (p *Proxy) Addr() net.Addr {
	if p.listener == nil {
		return nil
	}
	return p.listener.Addr()
}

func (p *Proxy) nextWorker() *Worker {
	return p.workers[(p.next.Add(1)-1)%uint64(len(p.workers))]
}

// ServeHTTP implements http.Handler. It panics with http.ErrAbortHandler, as net/http asks for, when the response
// broke off and the client must see that.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	defer p.requests.Done()
	worker, ok := r.Context().Value(workerKey{}).(*Worker)
	if !ok {
		worker = p.nextWorker()
	}
	// An error means that the writer is no HTTP/1 connection, which is full duplex anyway or a recorder.
	_ = http.NewResponseController(w).EnableFullDuplex()
	if !p.serve(worker, w, r) {
		panic(http.ErrAbortHandler)
	}
}

// serve runs one exchange and reports whether the response went out whole.
func (p *Proxy) serve(worker *Worker, w http.ResponseWriter, r *http.Request) (whole bool) {
	x := p.newExchange(worker, r)
	bodyless := r.ContentLength == 0
	pumped := make(chan struct{})
	if !x.open(p.requestHeaders(r), bodyless) {
		x.cancel()
		http.Error(w, "the proxy is stopping", http.StatusServiceUnavailable)
		return true
	}
	if bodyless {
		close(pumped)
	} else {
		x.wg.Add(1)
		go func() {
			defer close(pumped)
			x.pump()
		}()
	}
	whole = x.deliver(w)
	x.close(w, pumped, whole)
	return whole
}

// requestHeaders are the client's headers with those that Envoy adds.
func (p *Proxy) requestHeaders(r *http.Request) *Headers {
	h := clientHeaders(r)
	h.Set("x-forwarded-proto", "http")
	if _, ok := h.First("x-request-id"); !ok {
		h.Set("x-request-id", p.ids.next())
	}
	return h
}

// Metrics returns a snapshot of the filters' metrics.
func (p *Proxy) Metrics() []Metric { return p.config.Host.metrics.Snapshot() }

// Module returns the loaded filter.
func (p *Proxy) Module() *Module { return p.module }

// Workers returns the workers, for tools that look into their VMs.
func (p *Proxy) Workers() []*Worker { return p.workers }

// Stop takes no new connections, waits for open requests until ctx ends and then cuts them, and frees everything.
func (p *Proxy) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() { p.stopErr = p.stop(ctx) })
	return p.stopErr
}

func (p *Proxy) stop(ctx context.Context) error {
	var errs []error
	if p.server != nil {
		if err := p.server.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("open requests are cut: %w", err), p.server.Close())
		}
		p.serving.Wait()
	}
	p.waitForRequests(ctx)
	for _, w := range p.workers {
		errs = append(errs, w.Stop())
	}
	p.callouts.wait()
	p.streams.wait()
	for _, c := range p.clusters {
		c.transport.CloseIdleConnections()
	}
	if p.ownModule {
		errs = append(errs, p.module.Close(context.Background()))
	}
	return errors.Join(errs...)
}

// waitForRequests waits for open requests; when ctx ends before them, it cuts their streams.
func (p *Proxy) waitForRequests(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		p.requests.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	for _, w := range p.workers {
		w.Call(func() {
			for _, s := range w.vm.Streams() {
				s.Reset()
			}
		})
	}
	<-ended
}
