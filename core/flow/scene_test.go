package flow

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// follower is a policy that follows its key's binding (engine-selection.md 8.5).
// New keys go where choose says. It asks for a binding whether or not anybody
// can store it.
type follower struct {
	views  *Views
	kind   policy.KeySource
	full   map[core.WorkerID]bool // engines at their limit
	choose func(engines []*core.Worker, req *core.PickRequest) *core.Worker
	calls  int
	last   core.Pick
	seen   policy.Binding // at the last pick
}

func (*follower) Name() string              { return "follower" }
func (*follower) Supports(core.Stage) error { return nil }

func (p *follower) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	p.calls++
	key := req.SessionKey
	if p.kind == policy.KeyRouting {
		key = req.RoutingKey
	}
	if key == "" {
		return core.Pick{Worker: p.choose(engines, req), Reason: core.ReasonNoKey}, nil
	}
	p.seen = p.views.Binding(policy.Scope{Kind: p.kind, Model: req.Model, Bucket: req.Bucket, Stage: req.Stage, Key: key})
	pick := core.Pick{Worker: named(engines, p.seen.Worker), Reason: core.ReasonRoundRobin}
	if p.seen.State != policy.BindingBound || pick.Worker == nil {
		pick = core.Pick{Worker: p.choose(engines, req), Reason: core.ReasonRandom, Bind: true}
	}
	if p.full[pick.Worker.ID] {
		return core.Pick{}, &core.AdmissionError{Bucket: req.Bucket, Stage: req.Stage, Rejection: core.Rejection{Worker: pick.Worker.ID, Limit: "max_inflight_requests"}}
	}
	p.last = pick
	return pick, nil
}

func named(engines []*core.Worker, id core.WorkerID) *core.Worker {
	at := slices.IndexFunc(engines, func(w *core.Worker) bool { return w.ID == id })
	if at < 0 {
		return nil
	}
	return engines[at]
}

// to chooses the engine of an ID, the first one when it is not there.
func to(id core.WorkerID) func([]*core.Worker, *core.PickRequest) *core.Worker {
	return func(engines []*core.Worker, _ *core.PickRequest) *core.Worker {
		if w := named(engines, id); w != nil {
			return w
		}
		return engines[0]
	}
}

func anyOf(engines []*core.Worker, req *core.PickRequest) *core.Worker {
	return engines[req.Rand.IntN(len(engines))]
}

// store is what a state service keeps of bindings, by hand.
type store map[wire.Digest]core.WorkerID

func (s store) read(d wire.Digest) wire.Binding {
	if id, ok := s[d]; ok {
		return wire.Binding{Digest: d, State: wire.BindingBound, Worker: id}
	}
	return wire.Binding{Digest: d, State: wire.BindingNone}
}

func (s store) observe(q *wire.ObserveRequest) *wire.ObserveReply {
	reply := &wire.ObserveReply{}
	for _, scope := range q.Scopes {
		reply.Bindings = append(reply.Bindings, s.read(scope.Digest))
	}
	return reply
}

func (s store) bind(q *wire.BindRequest) *wire.BindReply {
	reply := &wire.BindReply{}
	for _, p := range q.Proposals {
		if now, ok := s[p.Scope.Digest]; !ok || now == p.Seen {
			s[p.Scope.Digest] = p.Worker
		}
		reply.Bindings = append(reply.Bindings, s.read(p.Scope.Digest))
	}
	return reply
}

// scene is a machine whose model "m" has buckets of followers.
type scene struct {
	*machine
	store   store
	wants   Wants
	buckets []*bucket.Bucket
	views   *Views
}

// newScene makes a context with a store. Buckets are added before requests.
func newScene(t tester, fleet ...wire.Worker) *scene {
	t.Helper()
	s := &scene{machine: newMachine(t, oneBucket, fleet...), store: store{}, views: &Views{}}
	s.UseState(State{Views: s.views, Wants: func(string) Wants { return s.wants }, Key: 77})
	return s
}

// add gives the scene a bucket that takes up to most tokens, plain or a pair.
func (s *scene) add(id string, most core.Tokens, groups bucket.Groups) {
	b, err := bucket.New(bucket.Spec{ID: id, Max: &most, Groups: groups})
	require.NoError(s.t, err)
	for _, g := range b.EngineGroups() {
		if f, ok := g.Policy().(*follower); ok {
			s.wants.Scopes = append(s.wants.Scopes, policy.Scope{Kind: f.kind, Model: "m", Bucket: id, Stage: g.Stage()})
		}
	}
	s.buckets = append(s.buckets, b)
	resolver, err := bucket.NewResolver(s.buckets, bucket.Preferences{})
	require.NoError(s.t, err)
	s.routeTo = func(string, spec.Adapters) (spec.Target, bool) {
		return spec.Target{Model: "m", Asked: "m", Resolver: resolver}, true
	}
}

// plain adds a bucket of one follower over the engines of some IDs.
func (s *scene) plain(id string, most core.Tokens, ids ...core.WorkerID) *follower {
	f := s.follower()
	s.add(id, most, bucket.Plain(bucket.Group{Members: bucket.Only(ids...), Policy: f}))
	return f
}

func (s *scene) follower() *follower {
	return &follower{views: s.views, full: map[core.WorkerID]bool{}, choose: anyOf}
}

// ask begins a request of a session. It returns the effects of its body.
func (s *scene) ask(session string) (*Request, []Effect) {
	s.t.Helper()
	r, ev := s.NewRequest(), s.headers()
	ev.SessionHeader, ev.RoutingHeader = session, session
	r.Step(&ev)
	return r, r.Step(&Event{Kind: EventBody, Now: s.now, Body: `{"model":"m"}`})
}

// call is the one call among effects that hold the request.
func (s *scene) call(effects []Effect, kind EffectKind) Effect {
	s.t.Helper()
	require.Equal(s.t, []EffectKind{kind, EffectPause}, kinds(effects))
	return effects[0]
}

// observed answers the observe among the effects from the store.
func (s *scene) observed(r *Request, effects []Effect) []Effect {
	s.t.Helper()
	call := s.call(effects, EffectObserve)
	return r.Step(&Event{Kind: EventObserved, Now: s.now, Call: call.Call, Observed: s.store.observe(call.Observe)})
}

// bound answers the bind among the effects from the store.
func (s *scene) bound(r *Request, effects []Effect) []Effect {
	s.t.Helper()
	call := s.call(effects, EffectBind)
	return r.Step(&Event{Kind: EventBound, Now: s.now, Call: call.Call, Bound: s.store.bind(call.Bind)})
}

// requireRouted checks that the effects send the request to an engine.
func (s *scene) requireRouted(r *Request, effects []Effect, id core.WorkerID) {
	s.t.Helper()
	require.Equal(s.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.Equal(s.t, id, r.Receipt().Chosen)
	require.Equal(s.t, id, r.charge.Worker())
}

// win binds a scope behind the request's back.
func (s *scene) win(effects []Effect, ids ...core.WorkerID) {
	s.t.Helper()
	for i, id := range ids {
		if id != "" {
			s.store[s.call(effects, EffectBind).Bind.Proposals[i].Scope.Digest] = id
		}
	}
}
