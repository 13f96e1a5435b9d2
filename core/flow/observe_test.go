package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// State down, then up (design section 7): known sessions stay, new ones go
// unbound, and nothing waits longer than the deadline.
func TestObserve_state_down_then_up(t *testing.T) {
	for name, down := range map[string]func(s *scene, call Effect) Event{
		"no answer": func(*scene, Effect) Event { return Event{Kind: EventObserved} },
		"late":      func(s *scene, _ Effect) Event { s.now += 150; return Event{Kind: EventTick} },
		"nothing in the answer": func(*scene, Effect) Event {
			return Event{Kind: EventObserved, Observed: &wire.ObserveReply{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, engines(3)...)
			f := s.plain("all", 100, "e0", "e1", "e2")
			f.choose = to("e1")
			r, effects := s.ask("known")
			s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e1")

			f.choose = to("e2")
			ask := func(session string) *Request {
				r, effects := s.ask(session)
				call := s.call(effects, EffectObserve)
				ev := down(s, call)
				ev.Now, ev.Call = s.now, call.Call
				effects = r.Step(&ev)
				require.Equal(t, EffectRoute, effects[0].Kind, "no bind is tried")
				require.Empty(t, r.Step(&Event{Kind: EventObserved, Now: s.now, Call: call.Call, Observed: s.store.observe(call.Observe)}), "too late to matter")
				return r
			}
			require.Equal(t, core.WorkerID("e1"), ask("known").Receipt().Chosen)
			require.Equal(t, policy.BindingBound, f.seen.State)
			require.Equal(t, uint64(1), s.Counters[BindingsRemembered])
			require.Equal(t, core.WorkerID("e2"), ask("new").Receipt().Chosen)
			require.Equal(t, policy.BindingUnavailable, f.seen.State, "unavailable is not none")
			require.Equal(t, uint64(1), s.Counters[UnboundUnavailable])
			require.Len(t, s.store, 1)

			s.apply(wire.SyncReply{Removed: []core.WorkerID{"e1"}})
			require.Equal(t, core.WorkerID("e2"), ask("known").Receipt().Chosen)
			require.Equal(t, policy.BindingUnavailable, f.seen.State, "an engine that is gone is no memory worth having")

			f.choose = to("e0")
			r, effects = s.ask("new")
			s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e0")
			require.Equal(t, uint64(2), s.Counters[BindsWon])
		})
	}
}

// What the service says replaces what the context remembers.
func TestObserve_none_is_remembered_too(t *testing.T) {
	s := newScene(t, engines(2)...)
	f := s.plain("all", 100, "e0", "e1")
	f.choose = to("e1")
	r, effects := s.ask("alice")
	s.bound(r, s.observed(r, effects))
	clear(s.store) // it expired
	r, effects = s.ask("alice")
	s.observed(r, effects)
	r.Step(&Event{Kind: EventDone})
	r, effects = s.ask("alice")
	r.Step(&Event{Kind: EventObserved, Call: effects[0].Call})
	require.Equal(t, policy.BindingUnavailable, f.seen.State)
}

// F06, H09: each kind of key has scopes of its own, in each bucket and stage, and
// all that could apply are asked about at once. Keys do not cross the wire.
func TestObserve_asks_about_every_group(t *testing.T) {
	s := newScene(t, engines(2)...)
	s.plain("short", 1, "e0")
	s.plain("long", 100, "e1").choose = to("e1")
	routing := s.follower()
	routing.kind = policy.KeyRouting
	s.add("pd", 200, bucket.PD(bucket.Group{Policy: s.follower()}, bucket.Group{Policy: routing}))
	r, effects := s.ask("secret")
	call := s.call(effects, EffectObserve).Observe
	var got []string
	seen := map[wire.Digest]bool{}
	for _, scope := range call.Scopes {
		got = append(got, fmt.Sprintf("%d %s/%s/%s", scope.Kind, scope.Model, scope.Bucket, scope.Stage))
		seen[scope.Digest] = true
	}
	require.Equal(t, []string{"1 m/short/plain", "1 m/long/plain", "1 m/pd/prefill", "2 m/pd/decode"}, got)
	require.Len(t, seen, 4)
	require.NotContains(t, string(wire.AppendObserveRequest(nil, call)), "secret")
	effects = s.observed(r, effects)
	require.NotContains(t, string(wire.AppendBindRequest(nil, s.call(effects, EffectBind).Bind)), "secret")
	s.requireRouted(r, s.bound(r, effects), "e1")
}

func TestObserve_scopes_are_bounded(t *testing.T) {
	s := newScene(t, engines(1)...)
	for i := range maxScopes + 1 {
		s.plain(fmt.Sprintf("b%02d", i), core.Tokens(i), "e0")
	}
	f := s.plain("last", 100, "e0")
	_, effects := s.ask("alice")
	require.Len(t, s.call(effects, EffectObserve).Observe.Scopes, maxScopes)
	require.Zero(t, f.calls)
}

func TestDigest_has_no_delimiter_to_play_with(t *testing.T) {
	c := newMachine(t, oneBucket).Context
	base := policy.Scope{Model: "m", Bucket: "b", Stage: core.StagePlain, Key: "k"}
	scopes := []policy.Scope{base, {}}
	for _, change := range []func(*policy.Scope){
		func(s *policy.Scope) { s.Kind = policy.KeyRouting },
		func(s *policy.Scope) { s.Stage = core.StageDecode },
		func(s *policy.Scope) { s.Model, s.Bucket = "mb", "" },
		func(s *policy.Scope) { s.Bucket, s.Key = "bk", "" },
		func(s *policy.Scope) { s.Bucket, s.Key = "", "bk" },
		func(s *policy.Scope) { s.Key = "k\x00" },
		func(s *policy.Scope) { s.Key = strings.Repeat("k", policy.MaxKey) },
	} {
		s := base
		change(&s)
		scopes = append(scopes, s)
	}
	seen := map[wire.Digest]bool{}
	for i := range scopes {
		seen[c.digest(&scopes[i])] = true
	}
	require.Len(t, seen, len(scopes))
	// Other processes, of other releases, must make the same.
	require.Equal(t, "e40e1d8", fmt.Sprintf("%x", c.digest(&base))[:7])
}

func TestRecent_is_bounded_and_forgets_the_oldest(t *testing.T) {
	var l recent
	digest := func(i int) (d wire.Digest) {
		d[0], d[1] = byte(i), byte(i>>8)
		return d
	}
	for i := range maxRecent {
		l.put(digest(i), "e0")
	}
	_, ok := l.get(digest(0)) // the oldest is used again
	require.True(t, ok)
	l.put(digest(2), "") // and one is no more
	for i := range 2 {
		l.put(digest(maxRecent+i), "e1")
	}
	require.Len(t, l.nodes, maxRecent)
	require.Len(t, l.at, maxRecent)
	for i, want := range map[int]bool{0: true, 1: false, 2: false, 3: false, 4: true, maxRecent: true, maxRecent + 1: true} {
		_, ok := l.get(digest(i))
		require.Equal(t, want, ok, i)
	}
	for i := range maxUsed {
		require.True(t, l.use(digest(10+i), "e0"))
		require.True(t, l.use(digest(10+i), "e0"), "once per report")
	}
	require.False(t, l.use(digest(5), "e0"))
	require.Len(t, l.drain(nil), maxUsed)
	require.True(t, l.use(digest(10), "e0"))
	require.Equal(t, []wire.UsedBinding{{Digest: digest(10), Worker: "e0"}}, l.drain(nil))
}

// reader is a policy that looks at prefixes.
type reader struct {
	follower
	sources []string
	lookups []policy.Lookup
	depths  map[string]uint64
}

func (p *reader) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	p.lookups, p.depths = nil, map[string]uint64{}
	for _, source := range p.sources {
		p.lookups = append(p.lookups, p.views.Lookup(source, 0, req))
		for _, w := range engines {
			p.depths[source+" "+string(w.ID)] = p.views.Depth(source, w)
		}
		p.depths[source+" again"] = p.views.Depth(source, engines[0])
	}
	return core.Pick{Worker: engines[0], Reason: core.ReasonRandom}, nil
}

func newReader(t *testing.T) (*scene, *reader) {
	s := newScene(t, engines(3)...)
	p := &reader{follower: follower{views: s.views}, sources: []string{"local", "remote"}}
	s.add("all", 1<<40, bucket.Plain(bucket.Group{Policy: p}))
	s.wants.Prefixes = p.sources
	return s, p
}

func TestLookup_answers_reach_the_policy(t *testing.T) {
	s, p := newReader(t)
	r, effects := s.ask("")
	call := s.call(effects, EffectObserve)
	require.True(t, call.WithBody)
	require.Equal(t, p.sources, call.Observe.Sources)
	require.Empty(t, call.Observe.Scopes)
	effects = r.Step(&Event{Kind: EventObserved, Call: call.Call, Observed: &wire.ObserveReply{Lookups: []wire.Lookup{
		{Source: "unasked", Outcome: wire.LookupHit, Blocks: 1},
		{Source: "local", Outcome: wire.LookupHit, Blocks: 9, Shared: 12, Depths: []wire.Depth{{Worker: "e2", Blocks: 7}, {Worker: "e0", Blocks: 9}, {Worker: "x", Blocks: 3}}},
	}}})
	s.requireRouted(r, effects, "e0")
	require.Equal(t, []policy.Lookup{
		{Outcome: policy.LookupHit, Blocks: 9, Shared: 9},
		{Detail: "the state service gave no answer"},
	}, p.lookups)
	require.Equal(t, map[string]uint64{
		"local e0": 9, "local e1": 0, "local e2": 7, "local again": 9,
		"remote e0": 0, "remote e1": 0, "remote e2": 0, "remote again": 0,
	}, p.depths)
}

func TestLookup_outcomes(t *testing.T) {
	for want, l := range map[policy.LookupOutcome]wire.Lookup{
		policy.LookupMiss:        {Outcome: wire.LookupMiss},
		policy.LookupInvalid:     {Outcome: wire.LookupInvalid},
		policy.LookupUnavailable: {},
	} {
		require.Equal(t, want, outcomeOf(&l))
	}
	require.Equal(t, policy.LookupInvalid, outcomeOf(&wire.Lookup{Outcome: wire.LookupHit}), "a hit of no blocks")
}

func TestLookup_is_unavailable_without_a_body_that_fits(t *testing.T) {
	s, p := newReader(t)
	s.UseState(State{Views: s.views, Wants: s.state.Wants, ObserveMaxBody: 10})
	r, effects := s.ask("")
	s.requireRouted(r, effects, "e0")
	require.Equal(t, policy.Lookup{Detail: "the request body is too large to look its prefix up"}, p.lookups[0])

	s.headerOnly = true
	ev := s.headers()
	ev.ModelHeader = "m"
	r = s.NewRequest()
	require.Equal(t, EffectStrip, r.Step(&ev)[0].Kind)
	require.Equal(t, policy.Lookup{Detail: "the request body was not seen"}, p.lookups[0])
}

// An engine that takes no requests is no memory worth having either: the policy
// must see that nothing is known, and not scatter the session.
func TestObserve_remembered_engine_is_down(t *testing.T) {
	s := newScene(t, engines(2)...)
	f := s.plain("all", 100, "e0", "e1")
	f.choose = to("e1")
	r, effects := s.ask("alice")
	s.bound(r, s.observed(r, effects))
	sick := engine(1)
	sick.Healthy = false
	s.apply(wire.SyncReply{Workers: []wire.Worker{sick}})
	r, effects = s.ask("alice")
	s.requireRouted(r, r.Step(&Event{Kind: EventObserved, Call: effects[0].Call}), "e0")
	require.Equal(t, policy.BindingUnavailable, f.seen.State)
	require.Zero(t, s.Counters[BindingsRemembered])
}

// blind asks for a binding of a scope that it never read.
type blind struct{ follower }

func (p *blind) Pick(engines []*core.Worker, _ *core.PickRequest) (core.Pick, error) {
	return core.Pick{Worker: engines[0], Reason: core.ReasonRandom, Bind: true}, nil
}

func TestBind_needs_a_scope_of_its_own_bucket(t *testing.T) {
	s := newScene(t, engines(2)...)
	s.plain("one", 100, "e0").full["e0"] = true
	s.add("two", 200, bucket.Plain(bucket.Group{Members: bucket.Only("e1"), Policy: &blind{}}))
	r, effects := s.ask("alice")
	s.requireRouted(r, s.observed(r, effects), "e1")
	require.Equal(t, uint64(1), s.Counters[UnboundUnavailable])
	require.Empty(t, s.store)
}

// A target that makes no sense is refused before anybody is asked.
func TestObserve_is_not_asked_for_a_request_that_is_refused(t *testing.T) {
	s := newScene(t, engines(1)...)
	s.plain("all", 100, "e0")
	resolver, err := bucket.NewResolver(s.buckets, bucket.Preferences{TTFT: bucket.PreferenceSLOFirst})
	require.NoError(t, err)
	s.routeTo = func(string, spec.Adapters) (spec.Target, bool) {
		return spec.Target{Model: "m", Asked: "m", Resolver: resolver}, true
	}
	r, ev := s.NewRequest(), s.headers()
	ev.SessionHeader, ev.TTFTHeader = "alice", "soon"
	r.Step(&ev)
	code, _ := refusal(t, r.Step(&Event{Kind: EventBody, Body: `{"model":"m"}`}))
	require.Equal(t, CodeBadRequest, code)
	require.Zero(t, s.calls)
}

func TestUsed_bindings_beyond_one_sync_are_counted(t *testing.T) {
	s := newScene(t, engines(1)...)
	s.plain("all", 100, "e0")
	for i := range maxUsed + 2 {
		session := fmt.Sprint("s", i)
		r, effects := s.ask(session)
		s.bound(r, s.observed(r, effects))
		r, effects = s.ask(session)
		s.observed(r, effects)
	}
	require.Equal(t, uint64(2), s.Counters[UsedDropped])
	require.Len(t, s.UsedBindings(nil), maxUsed)
}
