package flow

import (
	"math/rand/v2"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/history"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// Context is what the requests of one filter context share. It is
// single-threaded.
type Context struct {
	Router   *spec.Router
	Fleet    *fleet.Fleet
	Counters Counters

	maxBody     uint64
	bodyTimeout core.Instant
	unplaced    bool // let the host choose while no fleet is known
	full        bool // receipts keep their full form
	retry       bool // name spare engines for the host's transport retries
	naming      bool // name engines to clients
	aborting    bool // name requests to engines, so that they can be aborted
	paths       []routedPath
	generate    string // model of bodies that name none

	seed    uint64
	ordinal uint64 // selections begun so far

	state   State
	routeTo func(asked string, adapters spec.Adapters) (spec.Target, bool) // the router's, or a test's
	calls   uint64                                                         // to the state service so far
	recent  recent
	scratch []byte            // what digests are made of
	gauges  map[string]*gauge // of models whose prompts were counted, by name in the configuration
	past    *past             // nil when no policy goes by history
	pending *pending          // nil when no policy asks for the index, or what was sent does not count
	sent    sentTokens        // where an index was asked

	fleetBy core.Instant // until when requests wait for the first fleet; 0 before any did

	headers                      spec.Needs   // the headers that requests bring
	priorities                   *priorities  // nil when no priority is read
	sessionFields, routingFields []chat.Field // of bodies, that hold keys
	fields                       chat.Fields  // of the body being read
	ends                         chat.Ends    // likewise

	brief bool // see Brief

	bodySeen   bool // the host has shown a held request's body: it honours the header pause
	headerOnly bool // the host has been proven not to
	pool       []*Request
}

// NewContext makes a context. The configuration must have its defaults set. The
// seed and the ordinal of the selection make each request's random source.
func NewContext(cfg *spec.Config, router *spec.Router, members *fleet.Fleet, seed uint64) *Context {
	c := &Context{
		Router:      router,
		Fleet:       members,
		maxBody:     *cfg.MaxBodyBytes,
		bodyTimeout: core.Instant(*cfg.BodyTimeoutMillis),
		unplaced:    cfg.OnNoState == spec.OnNoStateHost,
		full:        cfg.Receipts == spec.ReceiptsLog,
		retry:       cfg.TransportRetry,
		naming:      cfg.WorkerHeader,
		aborting:    cfg.Abort != nil,
		generate:    cfg.GenerateModel,
		seed:        seed,
		routeTo:     router.Route,
	}
	c.headers = router.Needs()
	c.priorities = newPriorities(cfg.Priority)
	c.sessionFields, c.routingFields = c.headers.SessionFields, c.headers.RoutingFields
	c.UseState(State{})
	if router.Needs().History {
		c.past = &past{table: history.New(0)}
	}
	for _, p := range cfg.Paths {
		c.paths = append(c.paths, routedPath{p, chat.DialectOf(p)})
	}
	return c
}

// routedPath is a path whose requests are routed. There are a few at most.
type routedPath struct {
	path    string
	dialect chat.Dialect
}

// dialectOf gives the dialect of a path, DialectNone for one that is not routed.
func (c *Context) dialectOf(path string) chat.Dialect {
	for i := range c.paths {
		if c.paths[i].path == path {
			return c.paths[i].dialect
		}
	}
	return chat.DialectNone
}

// HeaderOnly reports whether the context decides from headers because its host
// pauses headers without showing bodies (design section 7).
func (c *Context) HeaderOnly() bool { return c.headerOnly }

// NeedsReceived reports whether the missing-flag proof is still open, so that
// EventHeaders and EventTick should carry Received.
func (c *Context) NeedsReceived() bool { return !c.bodySeen && !c.headerOnly }

// WantsPart reports whether EventBodyPart would change anything at a size. Most hosts
// bring bodies in several parts.
func (c *Context) WantsPart(size uint64) bool { return !c.bodySeen || size > c.maxBody }

// UsedBindings appends the bindings that requests followed since the last call,
// for the next sync. They are bounded; what is over the bound is counted.
func (c *Context) UsedBindings(dst []wire.UsedBinding) []wire.UsedBinding { return c.recent.drain(dst) }

// Brief makes receipts count the candidates beside the chosen engine and list
// none: to look at engines for the record alone costs more than to choose one.
// It is for a context whose receipts nobody reads.
func (c *Context) Brief() { c.brief = true }

// NeedsUpstream reports whether EventResponse, and EventDone of a request without
// a response, should carry Upstream.
func (c *Context) NeedsUpstream() bool { return c.retry }

// NamesWorkers reports whether responses name the engine. An engine's own word for
// it must then not pass either where the machine is not asked.
func (c *Context) NamesWorkers() bool { return c.naming }

// Needs says which headers EventHeaders should carry.
func (c *Context) Needs() spec.Needs { return c.Router.Needs() }

// NewRequest begins a request.
func (c *Context) NewRequest() *Request {
	var r *Request
	if n := len(c.pool); n > 0 {
		r, c.pool = c.pool[n-1], c.pool[:n-1]
	} else {
		r = &Request{}
		r.rand = rand.New(&r.pcg)
	}
	r.begin(c)
	return r
}

// maxPooled bounds the requests kept for reuse after a burst.
const maxPooled = 256

// recycle takes a finished request back. What its effects carried is let go of.
func (c *Context) recycle(r *Request) {
	r.dropEffects()
	r.ids, r.inserts = inputIDs{}, [len(r.inserts)]Insertion{}
	if r.memo != nil {
		r.memo.forget()
	}
	if c.past != nil && c.past.looked == r {
		c.past.looked = nil
	}
	if c.pending != nil && c.pending.looked == r {
		c.pending.looked = nil
	}
	if len(c.pool) < maxPooled {
		c.pool = append(c.pool, r)
	}
}

// dropEffects lets go of what the effects carried of the request. Most carry
// nothing, and cost no clearing.
func (r *Request) dropEffects() {
	all := r.effects[:cap(r.effects)]
	for i := range all {
		switch e := &all[i]; e.Kind {
		case EffectSplice, EffectRespond, EffectObserve, EffectBind, EffectFault, EffectAbort:
			*e = Effect{}
		case EffectNone, EffectStrip, EffectPause, EffectContinue, EffectRoute, EffectReceipt, EffectWorker:
		}
	}
}

// fleetWait is how long requests wait for a context's first fleet, in
// milliseconds: the default time-out of a sync, and as long again for one more
// try. A context that replaces another under load then fails no request.
const fleetWait = 2 * spec.DefaultSyncTimeout

// waits reports whether a request may wait for the first fleet. The first that
// asks sets the limit for all, so that a context without a state service makes
// its clients wait only once.
func (c *Context) waits(now core.Instant) bool {
	if c.fleetBy == 0 {
		c.fleetBy = now + fleetWait
	}
	return now < c.fleetBy
}

// Request is one stream.
type Request struct {
	ctx      *Context
	phase    phase
	dialect  chat.Dialect
	deadline core.Instant // of the body, or of the call that is waited for
	received core.Count   // at the headers
	length   core.Count   // announced body length
	model    string       // of the model header
	asked    ask          // what waits for the first fleet
	session  string       // session key
	routing  string       // routing key
	ttft     target[uint64]
	tps      target[float64]
	subset   *core.Subset // that the request is kept to; nil for none

	charge   fleet.Charge
	named    [1 + maxSpares]*core.Worker // engines in the endpoint header, in order
	defaults Insertion                   // of sampling parameters, into the body
	rid      rid
	ids      inputIDs     // of a chat, into the body
	ranked   bool         // its engine is always told a data-parallel rank
	ahead    uint64       // blocks of the prompt that the engine was sent just before
	inserts  [4]Insertion // all of them
	priority string       // member of the body by the client's header; empty for none

	priorityAt chat.Place // in the body
	spares     int        // of named, beside the chosen one
	receipt    receipt.Summary
	bucket     core.BucketRequest
	walk       walk
	ordinal    uint64        // of the context's selections
	memo       *memo         // nil when nothing outside the context is needed
	memory     *memo         // of this or a former request, for reuse
	path       *history.Path // of the prompt; nil when no policy asks for it
	steps      *history.Path // of this or a former request, for reuse
	source     string        // that a policy looked the prompt up at last
	match      history.Match // of the path, once a policy asked
	learned    bool          // the shelf was asked
	mark       history.Mark  // in the history
	credited   history.Mark  // in what is pending
	sent       *core.Worker  // whose entries the marks are of, nil for none
	pcg        rand.PCG
	rand       *rand.Rand // over pcg, for the life of the object
	effects    []Effect
}

// phase is how far a request has come.
type phase uint8

const (
	phaseNew      phase = iota
	phasePassed         // not ours: nothing to do
	phaseBody           // waiting for the body
	phaseFleet          // waiting for the first fleet
	phaseObserve        // waiting for what the state service knows
	phaseBind           // waiting for the placements to be stored
	phaseRouted         // sent to an engine
	phaseAnswered       // answered by the router
	phaseOver           // recycled
)

// begin makes a request of a new or a former one. It clears field by field: hosts
// clear and copy a large block byte by byte, and most of a request is its receipt's
// lists, of which only the lengths matter.
func (r *Request) begin(c *Context) {
	r.ctx, r.phase, r.dialect, r.deadline = c, phaseNew, chat.DialectNone, 0
	r.received, r.length = core.Count{}, core.Count{}
	r.model, r.session, r.routing, r.source, r.subset = "", "", "", "", nil
	r.ttft, r.tps = target[uint64]{}, target[float64]{}
	r.charge = fleet.Charge{}
	r.spares, r.sent = 0, nil
	clear(r.named[:])
	r.defaults = Insertion{}
	clear(r.inserts[:])
	r.priority, r.priorityAt = "", chat.Place{}
	r.rid, r.ids, r.ranked, r.ahead = rid{}, inputIDs{}, false, 0
	r.walk, r.bucket = walk{}, core.BucketRequest{}
	r.ordinal, r.memo, r.path, r.learned = 0, nil, nil, false
	r.match, r.mark, r.credited = history.Match{}, history.Mark{}, history.Mark{}
	r.effects = r.effects[:0]
	if r.asked.model != "" { // few wait for a fleet
		r.asked = ask{}
	}
	r.receipt.Reset()
	if c.full {
		r.receipt.Full()
	}
}

// Receipt is the record of the request's decision, valid until EventDone.
func (r *Request) Receipt() *receipt.Summary { return &r.receipt }

// Waiting reports whether the request waits for its body, for the first fleet or
// for the state service, and so wants ticks.
func (r *Request) Waiting() bool { return r.phase >= phaseBody && r.phase <= phaseBind }

// Step takes one event and returns what the host must do, in order. An event
// that nothing waits for has no effect.
func (r *Request) Step(ev *Event) []Effect {
	r.effects = r.effects[:0]
	views := r.ctx.state.Views
	views.request = r
	switch ev.Kind {
	case EventHeaders:
		r.onHeaders(ev)
	case EventBodyPart:
		r.onBodyPart(ev)
	case EventBody:
		r.onBody(ev)
	case EventTick:
		r.onTick(ev)
	case EventResponse:
		r.onResponse(ev)
	case EventDone:
		r.onDone(ev)
	case EventObserved:
		r.onObserved(ev)
	case EventBound:
		r.onBound(ev)
	case EventNone:
	}
	views.request = nil
	return r.effects
}

func (r *Request) emit(kind EffectKind) { r.effects = append(r.effects, Effect{Kind: kind}) }

// refuse answers the client with an error.
func (r *Request) refuse(code Code, message string) {
	r.receipt.Code = code.String()
	r.ctx.Counters.answered(code)
	r.answer(ErrorResponse(code, message))
	r.emit(EffectReceipt)
}

func (r *Request) answer(response Response) {
	r.phase = phaseAnswered
	r.effects = append(r.effects, Effect{Kind: EffectRespond, Response: response})
}
