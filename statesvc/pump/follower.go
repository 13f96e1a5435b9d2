package pump

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/engineapi"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// follower follows one engine.
type follower struct {
	p       *Pump
	id      string
	url     string
	log     *slog.Logger
	client  *engineapi.Client
	loads   loads
	latest  atomic.Pointer[fleet.Status]
	nudged  chan struct{} // holds a token when there is something to look at
	cancel  context.CancelFunc
	running sync.WaitGroup

	// Of run's goroutine.
	address    netip.AddrPort
	generation uint64
	askNext    time.Time // when to ask it again
	wanted     targets

	mu    sync.Mutex // guards what Status reads and run changes
	ranks []*rank
	feeds []feed
	err   string // why the sockets are not known
}

func newFollower(p *Pump, id, url string) *follower {
	f := &follower{p: p, id: id, url: url, log: p.o.Logger.With("worker", id), nudged: make(chan struct{}, 1), cancel: func() {}}
	load := &p.o.Config.Load
	f.loads = loads{worker: core.WorkerID(id), sink: p.o.Loads, clock: p.o.Clock, freshness: load.FreshnessMillis.Instants()}
	return f
}

func (f *follower) start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.running.Go(func() { f.run(ctx) })
}

// tell hands over what the fleet knows of the engine.
func (f *follower) tell(s *fleet.Status) {
	f.latest.Store(s)
	f.nudge()
}

func (f *follower) nudge() {
	select {
	case f.nudged <- struct{}{}:
	default:
	}
}

// stop ends the follower and takes the engine out of the index, in that order: no event
// comes after it.
func (f *follower) stop() {
	f.cancel()
	f.running.Wait()
	f.apply(targets{})
	f.p.index.RemoveWorker(f.id)
	if f.client != nil {
		f.client.Close()
	}
}

func (f *follower) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.nudged:
		}
		if s := f.latest.Load(); s != nil {
			f.look(ctx, s)
		}
	}
}

// look brings streams and feeds in line with what the fleet knows.
func (f *follower) look(ctx context.Context, s *fleet.Status) {
	if f.client == nil {
		f.client = f.newClient(f.url)
		if f.p.o.Config.Load.Native {
			f.running.Go(func() { f.poll(ctx) })
		}
	}
	if s.Worker.Generation != f.generation {
		f.renew(s.Worker.Generation)
	}
	if address, err := netip.ParseAddrPort(s.Worker.Address); err == nil && address != f.address {
		f.address, f.askNext = address, time.Time{}
	}
	switch {
	case s.Said.Config.KV.Disabled:
		f.wanted = targets{}
	case s.Said.Config.KV.Told():
		f.wanted = configured(&s.Said.Config.KV)
	case s.Worker.Healthy && f.address.IsValid() && !time.Now().Before(f.askNext):
		f.ask(ctx)
	}
	if ctx.Err() == nil {
		f.apply(f.wanted)
	}
}

func (f *follower) newClient(url string) *engineapi.Client {
	cfg := f.p.o.Config
	return engineapi.New(engineapi.Options{
		BaseURL: url, HealthPath: cfg.Health.Path, MetricsPath: cfg.Load.Path, MaxMetricsBytes: cfg.Load.MaxBodyBytes,
		Address: func() netip.AddrPort {
			if s := f.latest.Load(); s != nil {
				if a, err := netip.ParseAddrPort(s.Worker.Address); err == nil {
					return a
				}
			}
			return netip.AddrPort{}
		},
	})
}

// renew takes over another life of the engine. Its streams find out what that means.
func (f *follower) renew(generation uint64) {
	if f.generation != 0 {
		for _, r := range f.ranks {
			if stream := r.stream.Load(); stream != nil {
				stream.Renewed()
			}
		}
	}
	f.generation, f.askNext = generation, time.Time{}
	f.loads.renew(generation)
}

// ask asks the engine for its sockets. What it said before stays when it does not answer.
func (f *follower) ask(ctx context.Context) {
	in := &f.p.o.Config.Introspect
	sources, err := f.client.Sources(ctx, in.TimeoutMillis.Duration(), in.Attempts)
	f.askNext = time.Now().Add(in.IntervalMillis.Duration())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = ""
	if err != nil {
		f.err = err.Error()
		return
	}
	f.wanted = told(&sources, f.address.Addr())
}

// apply opens and closes until streams and feeds are the wanted ones.
func (f *follower) apply(want targets) {
	cfg := f.p.o.Config
	if !cfg.KV.Enabled {
		want.events = nil
	}
	if !cfg.Load.Native {
		want.load = nil
	}
	f.applyEvents(want.events)
	f.applyLoad(want.load)
}

func (f *follower) applyEvents(want []target) {
	kept := make([]*rank, 0, len(want))
	for _, r := range f.ranks {
		if slices.Contains(want, r.target) && (r.stream.Load() == nil || f.p.claims.holds(r.target.endpoint, f.id)) {
			kept = append(kept, r)
			continue
		}
		r.close()
	}
	for _, t := range want {
		if !slices.ContainsFunc(kept, func(r *rank) bool { return r.target == t }) {
			kept = append(kept, &rank{pump: f.p, owner: kvindex.Owner{Worker: f.id, Rank: t.rank}, target: t})
		}
	}
	slices.SortFunc(kept, func(a, b *rank) int { return int(a.owner.Rank) - int(b.owner.Rank) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ranks = kept
	for _, r := range kept {
		if r.stream.Load() == nil {
			f.open(r)
		}
	}
}

// open opens the stream of a rank if the socket is the engine's to claim.
func (f *follower) open(r *rank) {
	ok, loser := f.p.claims.take(r.target.endpoint, f.id, r.target.strength)
	if !ok {
		r.refused(f.log)
		return
	}
	r.granted(f.log)
	if loser != "" {
		f.p.nudge(loser)
		f.log.Warn("two engines name one event socket; it is taken for this one's", "endpoint", r.target.endpoint, "other", loser)
	}
	kv := &f.p.o.Config.KV
	f.p.ranks.Store(r.owner, r)
	r.stream.Store(zmqsub.Open(zmqsub.Options{
		Endpoint: r.target.endpoint, Replay: r.target.replay, Topic: r.target.topic, Sink: r,
		Logger: f.log.With("rank", r.owner.Rank),
		Limits: zmqsub.Limits{
			QueueMessages: kv.QueueMessages, QueueBytes: kv.QueueBytes, MaxMessageBytes: kv.MaxMessageBytes,
			ReplayTimeout: kv.ReplayTimeoutMillis.Duration(), ReplayTotal: kv.ReplayTotalMillis.Duration(), Check: kv.CheckMillis.Duration(),
		},
	}))
}

func (f *follower) applyLoad(want []target) {
	if slices.EqualFunc(f.feeds, want, func(a feed, b target) bool { return a.target == b }) {
		return
	}
	for _, old := range f.feeds {
		old.feed.Close()
	}
	f.loads.expect(len(want))
	feeds := make([]feed, 0, len(want))
	for _, t := range want {
		feeds = append(feeds, feed{target: t, feed: zmqsub.OpenFeed(zmqsub.FeedOptions{
			Endpoint: t.endpoint, Topic: t.topic, MaxMessageBytes: maxLoadBytes, Logger: f.log.With("rank", t.rank),
			Take: func(payload []byte) { f.loads.frame(t.rank, payload) },
		})})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.feeds = feeds
}

// maxLoadBytes is far above what a load report takes.
const maxLoadBytes = 64 << 10
