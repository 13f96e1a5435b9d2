package fleet

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
)

// Sink takes what the fleet finds. Calls for one worker come in order.
type Sink interface {
	// Describe adds a worker or replaces its descriptor.
	Describe(w core.Worker, recoveries uint64)
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
}

// Fleet watches the engines.
type Fleet struct {
	members []*member
	counts  counts

	cancel  context.CancelFunc
	running sync.WaitGroup
	pending atomic.Int64  // members without a first verdict
	ready   chan struct{} // closed when there is none
}

// New prepares a fleet. Nothing runs before Start.
func New(o Options) *Fleet {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	f := &Fleet{ready: make(chan struct{}), cancel: func() {}}
	for i := range o.Config.Fleet.Static {
		f.members = append(f.members, newMember(&o.Config.Fleet.Static[i], o, &f.counts))
	}
	slices.SortFunc(f.members, func(a, b *member) int { return strings.Compare(a.cfg.ID, b.cfg.ID) })
	f.pending.Store(int64(len(f.members)))
	return f
}

// Start begins to watch. It is called once.
func (f *Fleet) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	if len(f.members) == 0 {
		close(f.ready)
	}
	for i, m := range f.members {
		// Readings are spread over the interval, so that a large fleet is not read
		// all at once.
		phase := time.Duration(i) * m.load.IntervalMillis.Duration() / time.Duration(len(f.members))
		f.running.Go(func() { m.watchHealth(ctx, f.firstVerdict) })
		f.running.Go(func() { m.watchLoad(ctx, phase) })
		f.running.Go(func() { m.watchDescription(ctx) })
	}
}

func (f *Fleet) firstVerdict() {
	if f.pending.Add(-1) == 0 {
		close(f.ready)
	}
}

// Stop ends every goroutine and connection and returns when they have ended.
func (f *Fleet) Stop() {
	f.cancel()
	f.running.Wait()
	for _, m := range f.members {
		m.client.Close()
	}
}

// Suspect tells that a request to the worker failed so long ago by the worker's
// fault. A worker that was not probed since is probed at once: proxies then learn
// of its death at their next report. Unknown workers are ignored.
func (f *Fleet) Suspect(id core.WorkerID, ago time.Duration) {
	at, found := slices.BinarySearchFunc(f.members, string(id), func(m *member, id string) int { return strings.Compare(m.cfg.ID, id) })
	if found {
		f.members[at].suspect(ago)
	}
}

// Ready is closed once every engine has had its first verdict.
func (f *Fleet) Ready() <-chan struct{} { return f.ready }

// Status lists what is known of every engine of the configuration, by ID.
func (f *Fleet) Status() []Status {
	list := make([]Status, 0, len(f.members))
	for _, m := range f.members {
		list = append(list, m.status())
	}
	return list
}

// Counts gives the numbers of calls to engines so far.
func (f *Fleet) Counts() Counts { return f.counts.read() }
