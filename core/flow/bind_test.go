package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

func TestBind_new_session_then_known(t *testing.T) {
	s := newScene(t, engines(3)...)
	f := s.plain("all", 100, "e0", "e1", "e2")
	f.choose = to("e1")
	first, effects := s.ask("alice")
	observe := s.call(effects, EffectObserve)
	require.Equal(t, uint64(77), observe.Observe.Context)
	require.Equal(t, chatPath, observe.Observe.Path)
	require.Equal(t, uint32(150), observe.Observe.TimeoutMillis)
	require.False(t, observe.WithBody, "bindings need no body")
	require.True(t, first.Waiting())
	effects = s.observed(first, effects)
	bind := s.call(effects, EffectBind)
	require.Greater(t, bind.Call, observe.Call)
	require.Len(t, bind.Bind.Proposals, 1)
	proposal := bind.Bind.Proposals[0]
	require.Equal(t, core.WorkerID("e1"), proposal.Worker)
	require.Empty(t, proposal.Seen)
	require.Equal(t, wire.Scope{Digest: proposal.Scope.Digest, Kind: wire.KeySession, Model: "m", Bucket: "all", Stage: core.StagePlain}, proposal.Scope)
	require.Zero(t, s.inflight(), "nothing is charged before the placement is stored")
	effects = s.bound(first, effects)
	s.requireRouted(first, effects, "e1")
	require.False(t, first.Waiting())
	require.Empty(t, s.UsedBindings(nil), "a new binding needs no refresh")

	f.choose = to("e2")
	second, effects := s.ask("alice")
	s.requireRouted(second, s.observed(second, effects), "e1")
	require.Equal(t, []wire.UsedBinding{{Digest: proposal.Scope.Digest, Worker: "e1"}}, s.UsedBindings(nil))
	require.Empty(t, s.UsedBindings(nil))
	require.Equal(t, uint64(2), s.Counters[ObservesAnswered])
	require.Equal(t, uint64(1), s.Counters[BindsWon])
	s.answer(first, 200)
	s.answer(second, 200)
	require.Zero(t, s.inflight())
}

func TestObserve_is_not_asked_for_nothing(t *testing.T) {
	s := newScene(t, engines(2)...)
	s.plain("all", 100, "e0", "e1").choose = to("e0")
	r, effects := s.ask("")
	s.requireRouted(r, effects, "e0")
	s.wants = Wants{}
	r, effects = s.ask("alice")
	s.requireRouted(r, effects, "e0")
	require.Equal(t, uint64(1), s.Counters[UnboundUnavailable], "nobody could be asked for the second one")
}

// loss is what happens to a request's binds.
type loss struct {
	winners  []core.WorkerID // that are faster, round by round; empty lets the request win
	full     core.WorkerID   // engine at its limit from the first bind on
	chosen   core.WorkerID
	bucket   string
	binds    int
	bound    core.WorkerID // in the end, in the first bucket
	counters map[Counter]uint64
}

// Every way to lose (design section 3 step 7). Engines e0 to e2 are in the first
// bucket, e3 is in the second; "gone" is in none.
func TestBind_lost(t *testing.T) {
	for name, tt := range map[string]loss{
		"the winner is followed":                       {[]core.WorkerID{"e2"}, "", "e2", "one", 1, "e2", map[Counter]uint64{BindsLost: 1}},
		"the winner is full: next bucket":              {[]core.WorkerID{"e2"}, "e2", "e3", "two", 2, "e2", map[Counter]uint64{BindsLost: 1, BindsWon: 1}},
		"the winner is gone: bound anew":               {[]core.WorkerID{"gone"}, "", "e1", "one", 2, "e1", map[Counter]uint64{BindsLost: 1, BindsWon: 1}},
		"gone, then one to follow":                     {[]core.WorkerID{"gone", "e0"}, "", "e0", "one", 2, "e0", map[Counter]uint64{BindsLost: 2}},
		"lost three times, the last one is followed":   {[]core.WorkerID{"gone", "lost", "e0"}, "", "e0", "one", 3, "e0", map[Counter]uint64{BindsLost: 3}},
		"lost three times, the last one is gone":       {[]core.WorkerID{"gone", "lost", "away"}, "", "e1", "one", 3, "away", map[Counter]uint64{BindsLost: 3, UnboundRounds: 1}},
		"lost three times, the last one is full":       {[]core.WorkerID{"gone", "lost", "e0"}, "e0", "e1", "one", 3, "e0", map[Counter]uint64{BindsLost: 3, UnboundRounds: 1}},
		"lost twice, then full: next bucket, one bind": {[]core.WorkerID{"gone", "e0"}, "e0", "e3", "two", 3, "e0", map[Counter]uint64{BindsLost: 2, BindsWon: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, engines(4)...)
			one := s.plain("one", 100, "e0", "e1", "e2")
			one.choose = to("e1")
			s.plain("two", 200, "e3")
			r, effects := s.ask("alice")
			effects = s.observed(r, effects)
			first := s.call(effects, EffectBind).Bind.Proposals[0].Scope.Digest
			one.full[tt.full] = true
			binds := 0
			for ; effects[0].Kind == EffectBind; binds++ {
				if binds < len(tt.winners) {
					s.win(effects, tt.winners[binds])
				}
				effects = s.bound(r, effects)
			}
			s.requireRouted(r, effects, tt.chosen)
			require.Equal(t, tt.binds, binds)
			require.Equal(t, tt.bucket, r.Receipt().Bucket)
			require.Equal(t, tt.bound, s.store[first])
			require.Equal(t, uint64(1), s.inflight())
			for _, c := range []Counter{BindsWon, BindsLost, BindsUnavailable, BindsLate, UnboundRounds, UnboundUnavailable} {
				require.Equal(t, tt.counters[c], s.Counters[c], c.Name())
			}
			tries, n := r.Receipt().Tries()
			require.Equal(t, receipt.Try{Bucket: tt.bucket, Verdict: receipt.VerdictPicked}, tries[n-1], "a bucket is listed once as picked")
			s.answer(r, 200)
			require.Zero(t, s.inflight())
		})
	}
}

// A bound engine over its limit: the next bucket or 503; the binding stays, and
// the session is back when the load drops.
func TestBind_rejection_leaves_the_binding(t *testing.T) {
	s := newScene(t, engines(2)...)
	f := s.plain("all", 100, "e0", "e1")
	f.choose = to("e0")
	r, effects := s.ask("alice")
	s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e0")
	f.full["e0"] = true
	r, effects = s.ask("alice")
	code, _ := refusal(t, s.observed(r, effects))
	require.Equal(t, CodePolicySelectionFailed, code)
	require.Len(t, s.store, 1)
	f.full["e0"] = false
	f.choose = to("e1")
	r, effects = s.ask("alice")
	s.requireRouted(r, s.observed(r, effects), "e0")
}

func TestBind_unanswered(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  func(s *scene, call Effect) Event
		counter Counter
	}{
		"no answer": {func(*scene, Effect) Event { return Event{Kind: EventBound} }, BindsUnavailable},
		"late":      {func(s *scene, _ Effect) Event { s.now += 150; return Event{Kind: EventTick} }, BindsLate},
		"empty answer": {func(*scene, Effect) Event {
			return Event{Kind: EventBound, Bound: &wire.BindReply{}}
		}, BindsUnavailable},
		"bound to none": {func(_ *scene, call Effect) Event {
			d := call.Bind.Proposals[0].Scope.Digest
			return Event{Kind: EventBound, Bound: &wire.BindReply{Bindings: []wire.Binding{{Digest: d, State: wire.BindingNone}}}}
		}, BindsUnavailable},
		"bound to no name": {func(_ *scene, call Effect) Event {
			d := call.Bind.Proposals[0].Scope.Digest
			return Event{Kind: EventBound, Bound: &wire.BindReply{Bindings: []wire.Binding{{Digest: d, State: wire.BindingBound}}}}
		}, BindsUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, engines(3)...)
			s.plain("all", 100, "e0", "e1", "e2").choose = to("e1")
			r, effects := s.ask("alice")
			effects = s.observed(r, effects)
			call := s.call(effects, EffectBind)
			require.Empty(t, r.Step(&Event{Kind: EventTick, Now: s.now + 149}), "it is not late yet")
			ev := tt.answer(s, call)
			ev.Now, ev.Call = s.now, call.Call
			s.requireRouted(r, r.Step(&ev), "e1")
			require.Equal(t, uint64(1), s.Counters[tt.counter])
			require.Equal(t, uint64(1), s.Counters[UnboundUnavailable])
			require.Empty(t, r.Step(&Event{Kind: EventBound, Now: s.now, Call: call.Call, Bound: &wire.BindReply{}}), "too late to matter")
			require.Empty(t, s.UsedBindings(nil))
			require.Equal(t, uint64(1), s.inflight())
		})
	}
}

// What the engines did while the request waited.
func TestBind_engine_changes_meanwhile(t *testing.T) {
	again := engine(1)
	again.Models = []string{"m", "another"}
	for name, tt := range map[string]struct {
		fleet  []wire.Worker
		chosen core.WorkerID
		binds  int
	}{
		"it left: bound to another one":          {[]wire.Worker{engine(0), engine(2)}, "e0", 2},
		"registered again: the live object (I1)": {[]wire.Worker{engine(0), again, engine(2)}, "e1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, engines(3)...)
			s.plain("all", 100, "e0", "e1", "e2").choose = to("e1")
			r, effects := s.ask("alice")
			effects = s.observed(r, effects)
			s.apply(wire.SyncReply{Full: true, Workers: tt.fleet})
			binds := 0
			for ; effects[0].Kind == EffectBind; binds++ {
				effects = s.bound(r, effects)
			}
			s.requireRouted(r, effects, tt.chosen)
			require.Equal(t, tt.binds, binds)
		})
	}
	t.Run("all left", func(t *testing.T) {
		s := newScene(t, engines(3)...)
		s.plain("all", 100, "e0", "e1", "e2")
		r, effects := s.ask("alice")
		effects = s.observed(r, effects)
		s.apply(wire.SyncReply{Full: true})
		code, _ := refusal(t, s.bound(r, effects))
		require.Equal(t, CodeNoHealthyWorkers, code)
		require.Zero(t, s.inflight())
	})
	t.Run("it left and nobody answers", func(t *testing.T) {
		s := newScene(t, engines(3)...)
		s.plain("all", 100, "e0", "e1", "e2").choose = to("e1")
		r, effects := s.ask("alice")
		call := s.call(s.observed(r, effects), EffectBind)
		s.apply(wire.SyncReply{Full: true, Workers: []wire.Worker{engine(2)}})
		s.requireRouted(r, r.Step(&Event{Kind: EventBound, Call: call.Call}), "e2")
		require.Equal(t, uint64(1), s.Counters[UnboundUnavailable])
	})
}

// Random numbers repeat themselves in a resumed selection, and rotations stay.
func TestBind_resumed_selection_repeats_itself(t *testing.T) {
	s := newScene(t, engines(3)...)
	f := s.plain("all", 100, "e0", "e1", "e2")
	var drawn []uint64
	var rotates []bool
	f.choose = func(engines []*core.Worker, req *core.PickRequest) *core.Worker {
		drawn, rotates = append(drawn, req.Rand.Uint64()), append(rotates, req.Rotates())
		return engines[0]
	}
	r, effects := s.ask("alice")
	effects = s.observed(r, effects)
	s.win(effects, "gone")
	effects = s.bound(r, effects)
	s.requireRouted(r, s.bound(r, effects), "e0")
	require.Len(t, drawn, 2)
	require.Equal(t, drawn[0], drawn[1])
	require.Equal(t, []bool{true, false}, rotates)
}

// A client that leaves while its request waits leaves nothing behind, and a reply
// that comes later meets nobody, not even the stream that reuses the object.
func TestDeparted_client_and_late_replies(t *testing.T) {
	s := newScene(t, engines(2)...)
	s.plain("all", 100, "e0", "e1").choose = to("e0")
	r, effects := s.ask("alice")
	observe := s.call(effects, EffectObserve)
	require.Empty(t, r.Step(&Event{Kind: EventDone}))

	next, effects := s.ask("bob")
	require.Same(t, r, next, "the object is reused")
	reply := &wire.ObserveReply{Bindings: []wire.Binding{{Digest: observe.Observe.Scopes[0].Digest, State: wire.BindingBound, Worker: "e1"}}}
	require.Empty(t, next.Step(&Event{Kind: EventObserved, Call: observe.Call, Observed: reply}))
	effects = s.observed(next, effects)
	bind := s.call(effects, EffectBind)
	require.Empty(t, next.Step(&Event{Kind: EventObserved, Call: bind.Call, Observed: reply}), "another call's reply")
	require.Empty(t, next.Step(&Event{Kind: EventBound, Call: observe.Call, Bound: &wire.BindReply{}}))
	require.Empty(t, next.Step(&Event{Kind: EventDone}))
	require.Zero(t, s.inflight())
	require.Zero(t, s.Counters[ChargesReleased])

	last, effects := s.ask("carol")
	require.Empty(t, last.Step(&Event{Kind: EventBound, Call: bind.Call, Bound: &wire.BindReply{}}))
	s.requireRouted(last, s.bound(last, s.observed(last, effects)), "e0")
	require.Empty(t, last.Step(&Event{Kind: EventObserved, Call: bind.Call, Observed: reply}), "it is on its way")
}

// Policies of other contexts' requests see nothing of this one.
func TestViews_between_picks(t *testing.T) {
	s := newScene(t, engines(1)...)
	s.plain("all", 100, "e0")
	_, _ = s.ask("alice")
	require.Equal(t, policy.Binding{}, s.views.Binding(policy.Scope{Model: "m", Bucket: "all", Stage: core.StagePlain, Key: "alice"}))
	require.Equal(t, policy.LookupUnavailable, s.views.Lookup("local", 0, nil).Outcome)
	require.Zero(t, s.views.Depth("local", &core.Worker{ID: "e0"}))
}

// An engine that drains keeps its sessions, with and without the state service,
// and gets no new ones.
func TestBind_draining_engine_keeps_its_sessions(t *testing.T) {
	s := newScene(t, engines(2)...)
	f := s.plain("all", 100, "e0", "e1")
	f.choose = to("e1")
	r, effects := s.ask("alice")
	s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e1")
	waits, effects := s.ask("carol")
	effects = append([]Effect(nil), s.observed(waits, effects)...)

	draining := engine(1)
	draining.Draining = true
	s.apply(wire.SyncReply{Workers: []wire.Worker{draining}})
	r, known := s.ask("alice")
	s.requireRouted(r, s.observed(r, known), "e1")
	r, known = s.ask("alice")
	s.requireRouted(r, r.Step(&Event{Kind: EventObserved, Call: known[0].Call}), "e1")
	r, known = s.ask("bob")
	s.requireRouted(r, s.bound(r, s.observed(r, known)), "e0")
	r, known = s.ask("")
	s.requireRouted(r, known, "e0")
	// Its placement was stored while the engine began to drain: it is a session of
	// that engine by now.
	s.requireRouted(waits, s.bound(waits, effects), "e1")

	sick := draining
	sick.Healthy = false
	s.apply(wire.SyncReply{Workers: []wire.Worker{sick}})
	r, known = s.ask("alice")
	s.requireRouted(r, s.bound(r, s.observed(r, known)), "e0")
}
