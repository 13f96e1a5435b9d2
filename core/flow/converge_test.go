package flow

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// convergence is up to 6 filters and one store. Calls reach the store in any
// order, replies come back in any order, late or never (H04, H06, H11, F01).
type convergence struct {
	t       *rapid.T
	filters []*scene
	groups  [][2]*follower // of each filter: the first bucket's, and the second's
	store   store
	full    map[core.WorkerID]bool
	members map[core.WorkerID]bool // engines in the fleet
	open    []*flight
}

// flight is one request and the call it waits for.
type flight struct {
	filter  *scene
	request *Request
	session string
	call    *Effect // nil once it is sent or answered
	reply   *Event  // what the store said, on its way
	binds   int
	routed  bool
}

func newConvergence(t *rapid.T) *convergence {
	c := &convergence{t: t, store: store{}, full: map[core.WorkerID]bool{}, members: map[core.WorkerID]bool{}}
	for _, w := range engines(4) {
		c.members[w.ID] = true
	}
	for range rapid.IntRange(1, 6).Draw(t, "filters") {
		s := newScene(t, engines(4)...)
		s.store = c.store
		s.seed = uint64(len(c.filters)) // choose differently
		first, second := s.plain("one", 100, "e0", "e1", "e2"), s.plain("two", 200, "e3")
		first.full, second.full = c.full, c.full
		c.filters, c.groups = append(c.filters, s), append(c.groups, [2]*follower{first, second})
	}
	return c
}

// take notes what the machine did with a request.
func (c *convergence) take(f *flight, effects []Effect) {
	f.reply = nil
	if len(effects) == 0 {
		return
	}
	f.call = nil
	switch effects[0].Kind {
	case EffectObserve:
		f.call = new(effects[0])
	case EffectBind:
		f.binds++
		require.LessOrEqual(c.t, f.binds, maxRounds)
		// The message is the machine's; the host encodes it at once.
		bind := *effects[0].Bind
		bind.Proposals = slices.Clone(bind.Proposals)
		f.call = new(effects[0])
		f.call.Bind = &bind
	case EffectRoute:
		f.routed = true
	default:
		require.Equal(c.t, EffectRespond, effects[0].Kind)
	}
}

func (c *convergence) begin(filter int, session string) *flight {
	f := &flight{filter: c.filters[filter], session: session}
	r, effects := f.filter.ask(session)
	f.request = r
	c.open = append(c.open, f)
	c.take(f, effects)
	return f
}

// pick draws an open request that fits, nil when none does.
func (c *convergence) pick(t *rapid.T, fits func(*flight) bool) *flight {
	var list []*flight
	for _, f := range c.open {
		if fits(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(t, "request")
}

func (c *convergence) Begin(t *rapid.T) {
	c.begin(rapid.IntRange(0, len(c.filters)-1).Draw(t, "filter"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"))
}

// Serve lets the store answer a call.
func (c *convergence) Serve(t *rapid.T) {
	if f := c.pick(t, func(f *flight) bool { return f.call != nil }); f != nil {
		c.serve(f)
	}
}

func (c *convergence) serve(f *flight) {
	ev := &Event{Call: f.call.Call}
	if f.call.Kind == EffectObserve {
		ev.Kind, ev.Observed = EventObserved, c.store.observe(f.call.Observe)
	} else {
		ev.Kind, ev.Bound = EventBound, c.store.bind(f.call.Bind)
	}
	f.call, f.reply = nil, ev
}

func (c *convergence) Deliver(t *rapid.T) {
	if f := c.pick(t, func(f *flight) bool { return f.reply != nil }); f != nil {
		c.deliver(f)
	}
}

func (c *convergence) deliver(f *flight) {
	ev := f.reply
	ev.Now = f.filter.now
	c.take(f, f.request.Step(ev))
}

// Late lets the deadline pass; the reply may still come, and meets nobody.
func (c *convergence) Late(t *rapid.T) {
	f := c.pick(t, func(f *flight) bool { return f.request.Waiting() })
	if f == nil {
		return
	}
	if f.call != nil {
		c.serve(f)
	}
	late := f.reply
	f.filter.now += DefaultCallTimeout
	c.take(f, f.request.Step(&Event{Kind: EventTick, Now: f.filter.now}))
	require.Empty(t, f.request.Step(late))
}

func (c *convergence) End(t *rapid.T) {
	if f := c.pick(t, func(*flight) bool { return true }); f != nil {
		c.end(f)
	}
}

func (c *convergence) end(f *flight) {
	f.request.Step(&Event{Kind: EventDone, Now: f.filter.now})
	c.open = slices.DeleteFunc(c.open, func(o *flight) bool { return o == f })
}

func (c *convergence) Fill(t *rapid.T) {
	id := core.WorkerID(fmt.Sprintf("e%d", rapid.IntRange(0, 3).Draw(t, "engine")))
	c.full[id] = !c.full[id]
}

// Leave takes an engine out of every fleet, or back in.
func (c *convergence) Leave(t *rapid.T) {
	id := core.WorkerID(fmt.Sprintf("e%d", rapid.IntRange(0, 2).Draw(t, "engine")))
	c.members[id] = !c.members[id]
	var fleet []wire.Worker
	for _, w := range engines(4) {
		if c.members[w.ID] {
			fleet = append(fleet, w)
		}
	}
	for _, s := range c.filters {
		s.apply(wire.SyncReply{Full: true, Workers: fleet})
	}
}

// Check: what is charged is what was routed, no more and no less.
func (c *convergence) Check(t *rapid.T) {
	for _, s := range c.filters {
		var routed, charged uint64
		for _, f := range c.open {
			if f.filter == s && f.routed {
				routed++
			}
			if f.filter == s && f.request.charge.Held() {
				charged++
			}
		}
		require.Equal(t, routed, charged)
		require.LessOrEqual(t, s.inflight(), routed)
	}
}

// settle answers every call, and ends every request.
func (c *convergence) settle() {
	for len(c.open) > 0 {
		f := c.open[0]
		for f.request.Waiting() {
			if f.call != nil {
				c.serve(f)
			}
			c.deliver(f)
		}
		c.end(f)
	}
	for _, s := range c.filters {
		require.Zero(c.t, s.inflight())
		require.Equal(c.t, s.Counters[RequestsRouted], s.Counters[ChargesReleased])
	}
}

// In the end every filter sends a session to one engine, whatever happened
// before: to the bound one if it is admitted. A session without a binding meets
// all filters at once; while engines are full, some may find their first choice
// rejected where others bind.
func (c *convergence) converged() {
	for _, session := range []string{"a", "b"} {
		id := c.bound(session)
		var all []*flight
		for i := range c.filters {
			all = append(all, c.begin(i, session))
		}
		c.serveAll()
		chosen := map[core.WorkerID]bool{}
		for _, f := range all {
			if f.routed {
				chosen[f.request.Receipt().Chosen] = true
			}
		}
		if id == "" && !slices.Contains(slices.Collect(maps.Values(c.full)), true) {
			id = c.bound(session)
		}
		if c.members[id] && !c.full[id] {
			require.Equal(c.t, map[core.WorkerID]bool{id: true}, chosen, "session %s", session)
		}
		c.settle()
	}
}

// bound is the engine that a session is bound to in the first bucket.
func (c *convergence) bound(session string) core.WorkerID {
	scope := policy.Scope{Model: "m", Bucket: "one", Stage: core.StagePlain, Key: session}
	return c.store[c.filters[0].digest(&scope)]
}

// serveAll lets the store answer all calls that are made at once, then delivers
// the answers, until nothing waits.
func (c *convergence) serveAll() {
	for range 1 + maxRounds {
		for _, f := range c.open {
			if f.call != nil {
				c.serve(f)
			}
		}
		for _, f := range c.open {
			if f.reply != nil {
				c.deliver(f)
			}
		}
	}
}

func TestBindings_converge_for_any_interleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newConvergence(t)
		t.Repeat(map[string]func(*rapid.T){
			"": c.Check, "Begin": c.Begin, "Begin2": c.Begin, "Serve": c.Serve, "Serve2": c.Serve, "Deliver": c.Deliver, "Deliver2": c.Deliver,
			"Late": c.Late, "End": c.End, "Fill": c.Fill, "Leave": c.Leave,
		})
		c.settle()
		c.converged()
		clear(c.full)
		c.converged()
	})
}

// While engines neither leave nor fill up, one session has one engine from its
// first request on, for every order of calls and replies.
func TestBindings_never_split_a_session(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newConvergence(t)
		chosen := map[string]core.WorkerID{}
		t.Repeat(map[string]func(*rapid.T){
			"Begin": c.Begin, "Serve": c.Serve, "Deliver": c.Deliver,
			"": func(t *rapid.T) {
				for _, f := range c.open {
					if !f.routed {
						continue
					}
					id := f.request.Receipt().Chosen
					if first, ok := chosen[f.session]; ok {
						require.Equal(t, first, id)
					}
					chosen[f.session] = id
				}
				c.Check(t)
			},
		})
		c.settle()
	})
}
