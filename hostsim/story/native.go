package story

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// Native runs the filter's core without a module: it carries out effects and
// keeps time as the filter's shell does, so that a story reads the same.
type Native struct{}

// Start implements Host.
func (Native) Start(config []byte, env Surroundings) (Filter, error) {
	cfg, err := spec.Decode(config)
	if err != nil {
		return nil, refusal(err)
	}
	cfg = spec.Defaults(cfg)
	members := fleet.New(cfg.BreakerConfig(), cfg.Static())
	views := &flow.Views{}
	router, err := spec.Build(cfg, spec.Handles{Load: members, Bindings: views, Prefixes: views})
	if err != nil {
		return nil, refusal(err)
	}
	var seed uint64
	if cfg.Seed != nil {
		seed = *cfg.Seed
	}
	f := &nativeFilter{env: env, base: env.Clock.Now(), flow: flow.NewContext(cfg, router, members, seed), counts: map[string]uint64{}}
	f.sync.configure(cfg)
	f.connect(cfg, views)
	f.setTick()
	return f, nil
}

// nativeFilter is a filter context without a VM.
type nativeFilter struct {
	env     Surroundings
	base    time.Time
	flow    *flow.Context
	sync    nativeSync
	waiting []*nativeExchange // oldest first
	counts  map[string]uint64 // as last published
	log     []string
	ticking time.Duration
	cancel  func()
	queue   []func() // answers on their way to the filter
	faulted bool     // a fault was logged since the last tick
	warned  bool     // of header-only mode
	missing string   // members last reported missing
}

func (f *nativeFilter) now() core.Instant {
	return core.Instant(f.env.Clock.Now().Sub(f.base) / time.Millisecond)
}

// RunPending implements Filter: timers run at once, answers wait for it.
func (f *nativeFilter) RunPending() { f.runQueue() }

// Tick implements Filter, in the order of the filter's own tick.
func (f *nativeFilter) Tick() {
	now := f.now()
	f.faulted = false
	f.flow.Fleet.Expire(now)
	f.tickWaiting()
	if f.flow.HeaderOnly() && !f.warned {
		f.warned = true
		f.log = append(f.log, headerOnlyWarning)
	}
	call := f.sync.begin(f, now)
	f.publish()
	f.setTick()
	if call != nil {
		f.env.Service.Call(wire.SyncPath, call, func(reply []byte, ok bool) {
			f.queue = append(f.queue, func() { f.sync.take(f, reply, ok) })
		})
	}
	f.runQueue()
}

func (f *nativeFilter) tickWaiting() {
	f.waiting = slices.DeleteFunc(f.waiting, func(e *nativeExchange) bool {
		if e.over || !e.request.Waiting() {
			return true
		}
		ev := flow.Event{Kind: flow.EventTick, Now: f.now()}
		if f.flow.NeedsReceived() {
			ev.Received = core.Known(e.received)
		}
		e.step(&ev)
		return e.over || !e.request.Waiting()
	})
}

func (f *nativeFilter) publish() {
	for i, n := range f.flow.Counters {
		if n > 0 {
			f.counts[flow.Counter(i).Name()] = n
		}
	}
}

// setTick arms the timer anew when another period fits.
func (f *nativeFilter) setTick() {
	period := f.sync.period(f.flow.Fleet.Known())
	if period == f.ticking {
		return
	}
	f.ticking = period
	if f.cancel != nil {
		f.cancel()
	}
	f.arm()
}

func (f *nativeFilter) arm() {
	period := f.ticking
	f.cancel = f.env.Clock.AfterFunc(period, func() {
		f.Tick()
		if f.ticking == period {
			f.arm()
		}
	})
}

// Counters implements Filter.
func (f *nativeFilter) Counters() []Counter {
	list := make([]Counter, 0, len(f.counts))
	for name, n := range f.counts {
		list = append(list, Counter{name, n})
	}
	slices.SortFunc(list, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// TakeLog implements Filter.
func (f *nativeFilter) TakeLog() []string {
	lines := slices.Clone(f.log)
	f.log = f.log[:0]
	return lines
}

// Close implements Filter.
func (f *nativeFilter) Close() error {
	if f.cancel != nil {
		f.cancel()
	}
	return nil
}

// Open implements Filter.
func (f *nativeFilter) Open(o Opening) Exchange {
	f.sync.sawStream = true
	e := &nativeExchange{filter: f, request: f.flow.NewRequest(), received: uint64(o.Headers.Bytes())}
	header := func(name string) string {
		value, _ := o.Headers.First(strings.ToLower(name))
		return value
	}
	e.state.Rank = header("x-data-parallel-rank")
	needs := f.flow.Needs()
	var subset *core.Subset
	if hint, sent := o.Headers.First(needs.Subset); sent && needs.Subset != "" {
		subset = core.ParseSubset(hint)
	}
	ev := &flow.Event{
		Kind: flow.EventHeaders, Now: f.now(), EndOfStream: o.End,
		Method: header(":method"), Path: header(":path"), ContentEncoding: header("content-encoding"),
		SessionHeader: header(needs.Session), RoutingHeader: header(needs.Routing),
		TTFTHeader: header(needs.TTFT), TPSHeader: header(needs.TPS), Subset: subset, PriorityHeader: header(needs.Priority),
	}
	if n, err := strconv.ParseUint(header("content-length"), 10, 64); err == nil {
		ev.ContentLength = core.Known(n)
	}
	if f.flow.NeedsReceived() || f.flow.HeaderOnly() {
		ev.ModelHeader, ev.Received = header("x-pointsman-model"), core.Known(e.received)
	}
	e.step(ev)
	if !e.over && e.request.Waiting() {
		f.waiting = append(f.waiting, e)
	}
	f.runQueue()
	return e
}
