package fleet

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// Sink takes what the fleet finds. Calls for one worker come in order. None of them may
// call the Fleet.
type Sink interface {
	// Describe adds a worker or replaces its descriptor.
	Describe(w core.Worker, recoveries uint64)
	// Remove takes a worker out of the fleet.
	Remove(id core.WorkerID)
	// Report takes over a load report of one generation of a worker.
	Report(id core.WorkerID, generation uint64, report core.LoadReport, at core.Instant)
	// AnsweredWithin tells whether a request to the worker began to be answered
	// during the last span milliseconds.
	AnsweredWithin(id core.WorkerID, span core.Instant) bool
}

// Resolver looks up the addresses of a host name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are a Fleet's facts. Config, Sink, Clock and Logger are required.
type Options struct {
	Config   *config.Config
	Sink     Sink
	Clock    func() core.Instant
	Logger   *slog.Logger
	Resolver Resolver // default: the system's
	// Await are the sources besides the static list that must have said something before
	// the fleet is ready: without them it would be a part of the truth.
	Await []claims.Source
}

// Fleet watches the engines.
type Fleet struct {
	o      Options
	counts counts

	ctx     context.Context // ends with Stop
	cancel  context.CancelFunc
	running sync.WaitGroup
	ready   chan struct{} // closed when every source was heard and every engine judged

	mu       sync.Mutex // taken before a member's
	book     claims.Book
	sources  map[claims.Source]*heard
	members  map[core.WorkerID]*member
	sorted   []*member // by ID
	former   graveyard
	pending  int // members without a first verdict
	silent   int // awaited sources that said nothing yet
	started  bool
	stopped  bool
	finished bool // ready is closed
}

// New prepares a fleet. Nothing runs before Start.
func New(o Options) *Fleet {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	f := &Fleet{o: o, ready: make(chan struct{}), sources: map[claims.Source]*heard{}, members: map[core.WorkerID]*member{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	static := make([]claims.Claim, 0, len(o.Config.Fleet.Static))
	for i := range o.Config.Fleet.Static {
		static = append(static, claims.Claim{Worker: o.Config.Fleet.Static[i]})
	}
	f.sources[claims.Static] = &heard{}
	for _, source := range o.Await {
		f.sources[source] = &heard{}
		f.silent++
	}
	f.Say(claims.Static, static)
	return f
}

// Start begins to watch. It is called once.
func (f *Fleet) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = true
	for _, m := range f.sorted {
		f.watch(m)
	}
	f.noteReady()
}

// watch runs a member's goroutines. The caller holds mu.
func (f *Fleet) watch(m *member) {
	if !f.started || f.stopped {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	m.cancel = cancel
	f.running.Go(func() {
		var parts sync.WaitGroup
		parts.Go(func() { m.watchHealth(ctx, func() { f.judged(m) }) })
		parts.Go(func() { m.watchLoad(ctx) })
		parts.Go(func() { m.watchDescription(ctx) })
		parts.Wait()
		m.client.Close()
	})
}

// judged notes a member's first verdict.
func (f *Fleet) judged(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled(m)
	f.noteReady()
}

// settled counts a member out that is judged or gone. The caller holds mu.
func (f *Fleet) settled(m *member) {
	if m.pending {
		m.pending = false
		f.pending--
	}
}

func (f *Fleet) noteReady() {
	if f.started && !f.finished && f.pending == 0 && f.silent == 0 {
		f.finished = true
		close(f.ready)
	}
}

// Stop ends every goroutine and connection and returns when they have ended.
func (f *Fleet) Stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
}

// Suspect tells that a request to the worker failed so long ago by the worker's
// fault. A worker that was not probed since is probed at once: proxies then learn
// of its death at their next report. Unknown workers are ignored.
func (f *Fleet) Suspect(id core.WorkerID, ago time.Duration) {
	f.mu.Lock()
	m := f.members[id]
	f.mu.Unlock()
	if m != nil {
		m.suspect(ago)
	}
}

// Ready is closed once every awaited source was heard and every engine that it or the
// configuration names has had its first verdict.
func (f *Fleet) Ready() <-chan struct{} { return f.ready }

// Status lists what is known of every engine, by ID.
func (f *Fleet) Status() []Status {
	f.mu.Lock()
	members := f.sorted
	f.mu.Unlock()
	list := make([]Status, 0, len(members))
	for _, m := range members {
		list = append(list, m.status())
	}
	return list
}

// Counts gives the numbers of calls to engines so far.
func (f *Fleet) Counts() Counts { return f.counts.read() }
