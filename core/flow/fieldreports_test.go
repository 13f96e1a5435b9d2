package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// filters makes n contexts over one store, each with the same bucket, and each
// choosing its own engine for a new key.
func filters(t *testing.T, n int) (list []*scene, policies []*follower) {
	t.Helper()
	shared := store{}
	for i := range n {
		s := newScene(t, engines(n)...)
		s.store = shared
		var ids []core.WorkerID
		for j := range n {
			ids = append(ids, engine(j).ID)
		}
		f := s.plain("all", 100, ids...)
		f.choose = to(engine(i).ID)
		list, policies = append(list, s), append(policies, f)
	}
	return list, policies
}

// first is a session's first request at a filter, its bind on the way.
type first struct {
	*Request
	bind []Effect
}

// firsts begins n first requests of one session, spread over filters, all of
// which found it bound to nothing.
func firsts(list []*scene, n int) (open []first) {
	for i := range n {
		s := list[i%len(list)]
		r, effects := s.ask("session")
		effects = s.observed(r, effects)
		call := *s.call(effects, EffectBind).Bind
		call.Proposals = append([]wire.Proposal(nil), call.Proposals...)
		effects = append([]Effect(nil), effects...)
		effects[0].Bind = &call
		open = append(open, first{r, effects})
	}
	return open
}

// F01, H06: several filters bind one new session at once, and all follow one.
// H04: a hundred at once have one winner.
func TestH04_one_winner_of_a_hundred_first_turns(t *testing.T) {
	list, _ := filters(t, 6)
	chosen := map[core.WorkerID]int{}
	for i, f := range firsts(list, 100) {
		s := list[i%len(list)]
		effects := s.bound(f.Request, f.bind)
		require.Equal(t, EffectRoute, effects[0].Kind, "one bind each")
		chosen[f.Receipt().Chosen]++
	}
	require.Equal(t, map[core.WorkerID]int{"e0": 100}, chosen)
	require.Len(t, list[0].store, 1)
}

// F06, F09: a session that one filter placed is known to the next one.
func TestF06_session_first_seen_by_another_filter(t *testing.T) {
	list, _ := filters(t, 4)
	s := list[2]
	r, effects := s.ask("session")
	s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e2")
	for _, s := range list {
		r, effects := s.ask("session")
		s.requireRouted(r, s.observed(r, effects), "e2")
	}
}

// H11: ten concurrent first turns, and the winner is at its limit by then: the
// losers are checked again, and nobody rewrites the binding.
func TestH11_losers_are_rechecked_by_admission(t *testing.T) {
	list, policies := filters(t, 2)
	open := firsts(list, 10)
	for i, f := range open {
		s := list[i%2]
		effects := s.bound(f.Request, f.bind)
		if i%2 == 0 {
			s.requireRouted(f.Request, effects, "e0") // its own choice, admitted before
			policies[0].full["e0"], policies[1].full["e0"] = true, true
			continue
		}
		code, _ := refusal(t, effects)
		require.Equal(t, CodePolicySelectionFailed, code)
	}
	for _, id := range list[0].store {
		require.Equal(t, core.WorkerID("e0"), id)
	}
}

// H12: a session key of a megabyte is one of 128 bits from the start.
func TestH12_long_and_odd_keys(t *testing.T) {
	list, _ := filters(t, 1)
	s := list[0]
	long := strings.Repeat("k", 1<<20)
	r, effects := s.ask(long)
	s.requireRouted(r, s.bound(r, s.observed(r, effects)), "e0")
	require.Less(t, cap(s.scratch), 1<<10)
	r, effects = s.ask(long)
	s.requireRouted(r, s.observed(r, effects), "e0")
	require.Len(t, s.store, 1)

	for _, none := range []string{"", "key\x00", "schlüssel"} {
		r, effects := s.ask(none)
		s.requireRouted(r, effects, "e0") // no key, nothing to ask
	}
}

// F07: the state service goes in mid-run. No request fails, and none waits
// longer than one deadline.
func TestF07_state_service_goes_in_mid_run(t *testing.T) {
	list, _ := filters(t, 2)
	open := firsts(list, 2)
	r, effects := list[0].ask("session")
	call := list[0].call(effects, EffectObserve)
	for i, f := range open {
		s := list[i]
		s.now += DefaultCallTimeout
		s.requireRouted(f.Request, f.Step(&Event{Kind: EventTick, Now: s.now}), engine(i).ID)
	}
	list[0].requireRouted(r, r.Step(&Event{Kind: EventTick, Now: list[0].now, Call: call.Call}), "e0")
	require.Equal(t, uint64(1), list[0].Counters[ObservesLate])
	require.Equal(t, uint64(1), list[0].Counters[BindsLate])
	require.Equal(t, uint64(2), list[0].Counters[UnboundUnavailable])
}
