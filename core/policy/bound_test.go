package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

func sessionAware(t testing.TB, limits admission.Limits, loads policy.LoadView, b policy.Bindings) *policy.SessionAware {
	p, err := policy.NewSessionAware(limits, loads, b)
	require.NoError(t, err)
	return p
}

func sticky(t testing.TB, f policy.Fallback, limits admission.Limits, loads policy.LoadView, b policy.Bindings) *policy.Sticky {
	p, err := policy.NewSticky(f, limits, loads, b, 0)
	require.NoError(t, err)
	return p
}

// binder is one policy that binds keys, and its reasons.
type binder struct {
	picker
	kind                              policy.KeySource
	bound, assigned, keyless, unbound core.Reason
}

// binders gives one of every kind and fallback.
func binders(t testing.TB, limits admission.Limits, loads policy.LoadView, b policy.Bindings) []binder {
	list := []binder{{
		sessionAware(t, limits, loads, b), policy.KeySession,
		core.ReasonSessionPrimary, core.ReasonAssigned, core.ReasonNoSession, core.ReasonSessionUnbound,
	}}
	for f := policy.FallbackRoundRobin; f <= policy.FallbackLoadBased; f++ {
		list = append(list, binder{
			sticky(t, f, limits, loads, b), policy.KeyRouting,
			core.ReasonSticky, core.ReasonStickyAssigned, core.ReasonNoRoutingKey, core.ReasonStickyUnbound,
		})
	}
	return list
}

// keyed makes a request with the policy's kind of key; the other kind has another
// text.
func (b *binder) keyed(key string, stage core.Stage) *core.PickRequest {
	req := coretest.PickRequest(1, stage)
	req.SessionKey, req.RoutingKey = key, "other"
	if b.kind == policy.KeyRouting {
		req.SessionKey, req.RoutingKey = "other", key
	}
	return req
}

// scope is where a request's key is bound.
func (b *binder) scope(key string, req *core.PickRequest) policy.Scope {
	return policy.Scope{Kind: b.kind, Model: req.Model, Bucket: req.Bucket, Stage: req.Stage, Key: key}
}

func TestBound_refuses_missing_views(t *testing.T) {
	_, err := policy.NewSessionAware(admission.Limits{}, nil, &coretest.Bindings{})
	require.ErrorContains(t, err, "session_aware needs a load view")
	_, err = policy.NewSessionAware(admission.Limits{}, &coretest.Loads{}, nil)
	require.ErrorContains(t, err, "session_aware needs a view of bindings")
	_, err = policy.NewSticky(policy.FallbackRandom, admission.Limits{}, &coretest.Loads{}, nil, 0)
	require.ErrorContains(t, err, "sticky needs a view of bindings")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = policy.NewSticky(9, admission.Limits{}, &coretest.Loads{}, &coretest.Bindings{}, 0)
	require.EqualError(t, err, "invalid configuration: sticky: fallback 9 is not known")
}

func TestBound_reuses_a_binding_under_any_load(t *testing.T) {
	engines, loads, bindings := coretest.Workers(8), &coretest.Loads{}, &coretest.Bindings{}
	loads.SetInflight(engines[5], 1000)
	for _, p := range binders(t, admission.Limits{}, loads, bindings) {
		for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode} {
			req := p.keyed("k", stage)
			bindings.Bind(p.scope("k", req), engines[5].ID)
			for range 20 {
				pick, err := p.Pick(engines, req)
				require.NoError(t, err)
				require.Equal(t, core.Pick{Worker: engines[5], Reason: p.bound}, pick, p.Name())
			}
		}
	}
}

// E10, H11: admission is asked first, and a rejection moves no binding.
func TestE10_rejection_leaves_the_binding(t *testing.T) {
	for _, inflight := range []uint64{0, 1, 2, 3} {
		engines, loads, bindings := coretest.Workers(4), &coretest.Loads{}, &coretest.Bindings{}
		loads.SetInflight(engines[2], inflight)
		for _, p := range binders(t, capInflight(2), loads, bindings) {
			req := p.keyed("k", core.StageDecode)
			bindings.Bind(p.scope("k", req), engines[2].ID)
			pick, err := p.Pick(engines, req)
			if inflight < 2 {
				require.NoError(t, err)
				require.Equal(t, core.Pick{Worker: engines[2], Reason: p.bound}, pick)
				continue
			}
			require.Zero(t, pick, "no other engine is tried")
			require.Equal(t, &core.AdmissionError{Bucket: "b", Stage: core.StageDecode, Rejection: core.Rejection{
				Worker: "w0002", Limit: "max_inflight_requests", Value: inflight, Cap: 2,
			}}, err)
			require.True(t, core.Advance(err))
		}
	}
}

// A report that is not there admits, also on the way to a binding.
func TestE10_unknown_metrics_admit(t *testing.T) {
	engines, loads, bindings := coretest.Workers(3), &coretest.Loads{}, &coretest.Bindings{}
	limits := admission.Limits{MaxRunningRequests: new(uint64(1)), MaxWaitingRequests: new(uint64(1)), MaxKVTokens: new(uint64(1))}
	for _, p := range binders(t, limits, loads, bindings) {
		for _, key := range []string{"", "new"} {
			_, err := p.Pick(engines, p.keyed(key, core.StagePlain))
			require.NoError(t, err)
		}
	}
}

func TestBound_admission_sees_a_fresh_observation_once(t *testing.T) {
	engines, bindings := coretest.Workers(3), &coretest.Bindings{}
	limits := admission.Limits{MaxWaitingRequests: new(uint64(5))}
	loads := &coretest.Loads{}
	p := binders(t, limits, loads, bindings)[0]
	req := p.keyed("k", core.StagePlain)
	bindings.Bind(p.scope("k", req), engines[1].ID)
	for waiting, admitted := range map[uint64]bool{4: true, 5: false} {
		loads.SetReport(engines[1], basicReport(0, waiting))
		before := loads.Reads(engines[1])
		_, err := p.Pick(engines, req)
		require.Equal(t, admitted, err == nil)
		require.Equal(t, 1, loads.Reads(engines[1])-before)
		require.Zero(t, loads.Reads(engines[0])+loads.Reads(engines[2]), "nobody else is looked at")
	}
}

func TestBound_places_new_keys_and_asks_for_a_binding(t *testing.T) {
	engines, loads, bindings := coretest.Workers(4), &coretest.Loads{}, &coretest.Bindings{}
	for _, p := range binders(t, admission.Limits{}, loads, bindings) {
		pick, err := p.Pick(engines, p.keyed("new", core.StagePlain))
		require.NoError(t, err)
		require.Contains(t, engines, pick.Worker)
		require.Equal(t, core.Pick{Worker: pick.Worker, Reason: p.assigned, Bind: true}, pick)
		require.Zero(t, bindings.Len(), "a policy writes no binding")
	}
}

// A placement that admission refuses is none: E10, H11.
func TestH11_nothing_is_bound_before_admission(t *testing.T) {
	engines, loads, bindings := coretest.Workers(1), &coretest.Loads{}, &coretest.Bindings{}
	loads.SetInflight(engines[0], 1)
	for _, p := range binders(t, capInflight(1), loads, bindings) {
		for _, key := range []string{"", "new"} {
			pick, err := p.Pick(engines, p.keyed(key, core.StagePlain))
			require.Zero(t, pick)
			var rejected *core.AdmissionError
			require.ErrorAs(t, err, &rejected, p.Name())
		}
	}
}

// Nested fallbacks have no caps of their own: what they choose is checked by the
// owner, and no other engine is tried.
func TestBound_fallback_admits_all(t *testing.T) {
	engines, loads, bindings := coretest.Workers(3), &coretest.Loads{}, &coretest.Bindings{}
	loads.SetInflight(engines[0], 1)
	p := sticky(t, policy.FallbackRoundRobin, capInflight(1), loads, bindings)
	req := coretest.PickRequest(1, core.StagePlain)
	_, err := p.Pick(engines, req)
	var rejected *core.AdmissionError
	require.ErrorAs(t, err, &rejected, "round_robin by itself would pass over it")
	require.Same(t, engines[1], take(t, p, engines, req))
}

func TestBound_keyless_requests_never_pin(t *testing.T) {
	engines, loads, bindings := coretest.Workers(4), &coretest.Loads{}, &coretest.Bindings{}
	for _, down := range []bool{false, true} {
		bindings.Down = down
		for _, p := range binders(t, admission.Limits{}, loads, bindings) {
			pick, err := p.Pick(engines, p.keyed("", core.StagePlain))
			require.NoError(t, err)
			require.Equal(t, core.Pick{Worker: pick.Worker, Reason: p.keyless}, pick)
		}
	}
	require.Empty(t, bindings.Asked())
}

// A binding to an engine that is gone from the candidates cannot win; the key is
// placed anew.
func TestBound_remaps_a_key_whose_engine_is_lost(t *testing.T) {
	engines, loads, bindings := coretest.Workers(4), &coretest.Loads{}, &coretest.Bindings{}
	for _, p := range binders(t, admission.Limits{}, loads, bindings) {
		req := p.keyed("k", core.StagePlain)
		for _, lost := range []core.WorkerID{"w0003", "", "w0000x", "z"} {
			bindings.Bind(p.scope("k", req), lost)
			pick, err := p.Pick(engines[:3], req)
			require.NoError(t, err)
			require.Contains(t, engines[:3], pick.Worker)
			require.Equal(t, core.Pick{Worker: pick.Worker, Reason: p.assigned, Bind: true}, pick)
		}
	}
}

// An engine that was replaced under its ID: the object of today is returned.
func TestBound_returns_the_live_object(t *testing.T) {
	former, engines, bindings := coretest.Workers(3), coretest.Workers(3), &coretest.Bindings{}
	for _, p := range binders(t, admission.Limits{}, &coretest.Loads{}, bindings) {
		req := p.keyed("k", core.StagePlain)
		bindings.Bind(p.scope("k", req), former[1].ID)
		pick, err := p.Pick(engines, req)
		require.NoError(t, err)
		require.Same(t, engines[1], pick.Worker)
		require.NotSame(t, former[1], pick.Worker)
	}
}

// A spare engine is a choice beside one already made. It is never a placement.
func TestBound_spare_choices_bind_nothing(t *testing.T) {
	engines, loads, bindings := coretest.Workers(3), &coretest.Loads{}, &coretest.Bindings{}
	for i, p := range binders(t, admission.Limits{}, loads, bindings) {
		key := fmt.Sprint("k", i)
		req := p.keyed(key, core.StagePlain)
		req.Spare = true
		pick, err := p.Pick(engines, req)
		require.NoError(t, err)
		require.False(t, pick.Bind)
		require.Equal(t, p.assigned, pick.Reason)
		bindings.Bind(p.scope(key, req), engines[0].ID)
		pick, err = p.Pick(engines[1:], req)
		require.NoError(t, err)
		require.False(t, pick.Bind, "the bound engine is the first choice, and no candidate here")
	}
}

// Each scope has a placement of its own. No text of one part can pass for
// another's, since a scope's parts stay apart.
func TestBound_scopes_are_apart(t *testing.T) {
	engines, loads, bindings := coretest.Workers(2), &coretest.Loads{}, &coretest.Bindings{}
	for _, p := range binders(t, admission.Limits{}, loads, bindings) {
		scopes := []policy.Scope{}
		for _, parts := range [][3]string{{"m", "b", "k"}, {"m:b", "", "k"}, {"m", "b:k", ""}, {"m", "b", "b:k"}, {"mb", "", "k"}, {"", "mb", "k"}} {
			for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode} {
				req := p.keyed(parts[2]+"x", stage)
				req.Model, req.Bucket = parts[0], parts[1]
				before := len(bindings.Asked())
				_, err := p.Pick(engines, req)
				require.NoError(t, err)
				require.Len(t, bindings.Asked(), before+1, "one question per pick")
				scopes = append(scopes, bindings.Asked()[before])
			}
		}
		seen := map[policy.Scope]bool{}
		for _, s := range scopes {
			require.False(t, seen[s], "%+v", s)
			seen[s] = true
		}
		require.Len(t, seen, 18)
	}
}

// Design section 7: while bindings cannot be asked, proxies agree on the key's
// engine all the same, load is bounded, admission holds, and nothing is bound.
func TestBound_unavailable_bindings_go_by_hash(t *testing.T) {
	engines, loads := coretest.Workers(16), &coretest.Loads{}
	down := &coretest.Bindings{Down: true}
	one, other := binders(t, admission.Limits{}, loads, down), binders(t, admission.Limits{}, &coretest.Loads{}, down)
	places := map[core.WorkerID]bool{}
	for i := range one {
		for k := range 64 {
			key := fmt.Sprint("key-", k)
			req := one[i].keyed(key, core.StagePlain)
			req.Rand = nil
			pick, err := one[i].Pick(engines, req)
			require.NoError(t, err)
			require.Equal(t, core.Pick{Worker: pick.Worker, Reason: one[i].unbound}, pick)
			require.Same(t, pick.Worker, take(t, other[i], engines, req), "another proxy agrees")
			require.Same(t, pick.Worker, take(t, consistentHash(t, hashing(), admission.Limits{}, loads), engines, keyed(key)))
			places[pick.Worker.ID] = true
		}
	}
	require.Greater(t, len(places), 8)

	full := take(t, one[0], engines, one[0].keyed("k", core.StagePlain))
	loads.SetInflight(full, 100)
	require.NotSame(t, full, take(t, one[0], engines, one[0].keyed("k", core.StagePlain)), "bounded load")
	for _, w := range engines {
		loads.SetInflight(w, 3)
	}
	_, err := binders(t, capInflight(3), loads, down)[0].Pick(engines, one[0].keyed("k", core.StagePlain))
	var rejected *core.AdmissionError
	require.ErrorAs(t, err, &rejected)
}

// H04, H06, H11: whoever loses the race to place a key picks again with the
// winner in the view, whose admission is asked.
func TestH11_race_losers_follow_the_winner(t *testing.T) {
	engines, loads, bindings := coretest.Workers(2), &coretest.Loads{}, &coretest.Bindings{}
	for i, p := range binders(t, capInflight(10), loads, bindings) {
		key := fmt.Sprint("k", i)
		req := p.keyed(key, core.StagePlain)
		scope := p.scope(key, req)
		var placed []*core.Worker
		for seed := range uint64(10) {
			first := p.keyed(key, core.StagePlain)
			first.Rand = coretest.Request(seed).Rand
			pick, err := p.Pick(engines, first)
			require.NoError(t, err)
			require.True(t, pick.Bind, "all ten look before one is bound")
			placed = append(placed, pick.Worker)
		}
		bindings.Bind(scope, placed[0].ID)
		for range placed {
			pick, err := p.Pick(engines, req)
			require.NoError(t, err)
			require.Equal(t, core.Pick{Worker: placed[0], Reason: p.bound}, pick)
		}
		loads.SetInflight(placed[0], 10)
		_, err := p.Pick(engines, req)
		require.ErrorIs(t, err, core.ErrRejected, "the winner is checked, and stays")
		loads.SetInflight(placed[0], 0)
	}
}

// H01: both stages of a pair keep their engine.
func TestH01_both_stages_are_kept(t *testing.T) {
	loads, bindings := &coretest.Loads{}, &coretest.Bindings{}
	engines := coretest.Workers(6)
	for _, p := range binders(t, admission.Limits{}, loads, bindings) {
		for _, stage := range []core.Stage{core.StagePrefill, core.StageDecode} {
			req := p.keyed("k", stage)
			first, err := p.Pick(engines, req)
			require.NoError(t, err)
			bindings.Bind(p.scope("k", req), first.Worker.ID)
			loads.SetInflight(first.Worker, 50)
			require.Same(t, first.Worker, take(t, p, engines, req))
		}
	}
}

// The rules of engine-selection.md 8.5 as a naive oracle, over any bindings,
// loads and candidates.
func TestBound_follows_the_rules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		engines, loads := coretest.Workers(rapid.IntRange(1, 6).Draw(rt, "engines")), &coretest.Loads{}
		for _, w := range engines {
			loads.SetInflight(w, rapid.Uint64Range(0, 4).Draw(rt, "inflight"))
		}
		bindings := &coretest.Bindings{Down: rapid.IntRange(0, 3).Draw(rt, "down") == 0}
		most := rapid.Uint64Range(1, 4).Draw(rt, "cap")
		list := binders(t, capInflight(most), loads, bindings)
		p := list[rapid.IntRange(0, len(list)-1).Draw(rt, "policy")]
		key := rapid.SampledFrom([]string{"", "k"}).Draw(rt, "key")
		req := p.keyed(key, core.StageDecode)
		req.Spare = rapid.Bool().Draw(rt, "spare")
		at := rapid.IntRange(-1, 7).Draw(rt, "bound to")
		if at >= 0 {
			bindings.Bind(p.scope("k", req), core.WorkerID(fmt.Sprintf("w%04d", at)))
		}
		pick, err := p.Pick(engines, req)
		live := key != "" && !bindings.Down && at >= 0 && at < len(engines)
		if err != nil {
			rejected := core.Rejections(err)
			require.Len(rt, rejected, 1)
			require.GreaterOrEqual(rt, rejected[0].Value, most)
			if live {
				require.Equal(rt, engines[at].ID, rejected[0].Worker)
			}
			return
		}
		require.Less(rt, loads.Inflight(pick.Worker), most)
		require.Same(rt, engines[pick.Worker.Slot], pick.Worker)
		want := core.Pick{Worker: pick.Worker, Reason: p.assigned, Bind: !req.Spare}
		switch {
		case key == "":
			want = core.Pick{Worker: pick.Worker, Reason: p.keyless}
		case bindings.Down:
			want = core.Pick{Worker: pick.Worker, Reason: p.unbound}
		case live:
			want = core.Pick{Worker: engines[at], Reason: p.bound}
		}
		require.Equal(rt, want, pick)
	})
}
