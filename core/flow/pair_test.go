package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// pairScene has prefill engines p0 to p2 and decode engines d0 to d2; the last of
// each is of version group "new".
func pairScene(t *testing.T) (s *scene, prefill, decode *follower) {
	var fleet []wire.Worker
	for i, id := range []core.WorkerID{"p0", "p1", "p2", "d0", "d1", "d2"} {
		w := engine(i)
		w.ID, w.Stage = id, core.StagePrefill
		if i > 2 {
			w.Stage = core.StageDecode
		}
		if i%3 == 2 {
			w.Version = "new"
		}
		fleet = append(fleet, w)
	}
	s = newScene(t, fleet...)
	prefill, decode = s.follower(), s.follower()
	prefill.choose, decode.choose = to("p0"), to("d0")
	s.add("pd", 100, bucket.PD(bucket.Group{Policy: prefill}, bucket.Group{Policy: decode}))
	return s, prefill, decode
}

// H01: one bind for both stages of a pair, and only the half that was lost picks
// again, unless its version group no longer fits (design section 3 step 7).
func TestH01_pair_binds_both_halves(t *testing.T) {
	for name, tt := range map[string]struct {
		prefill, decode core.WorkerID // that win the first round; empty lets the request win
		last            [2]core.WorkerID
		calls           [2]int // picks of each policy
		binds           int
	}{
		"both are ours":                       {"", "", [2]core.WorkerID{"p0", "d0"}, [2]int{1, 1}, 1},
		"prefill lost: decode is kept":        {"p1", "", [2]core.WorkerID{"p1", "d0"}, [2]int{2, 1}, 1},
		"decode lost: prefill is kept":        {"", "d1", [2]core.WorkerID{"p0", "d1"}, [2]int{1, 2}, 1},
		"both lost":                           {"p1", "d1", [2]core.WorkerID{"p1", "d1"}, [2]int{2, 2}, 1},
		"prefill of another version group":    {"p2", "", [2]core.WorkerID{"p2", "d2"}, [2]int{2, 2}, 2},
		"decode of another version group":     {"", "d2", [2]core.WorkerID{"p0", "d0"}, [2]int{1, 2}, 2},
		"both of the other group":             {"p2", "d2", [2]core.WorkerID{"p2", "d2"}, [2]int{2, 2}, 1},
		"prefill winner gone, decode is kept": {"gone", "", [2]core.WorkerID{"p0", "d0"}, [2]int{2, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, prefill, decode := pairScene(t)
			r, effects := s.ask("alice")
			effects = s.observed(r, effects)
			proposals := s.call(effects, EffectBind).Bind.Proposals
			require.Len(t, proposals, 2, "one bind for both stages")
			p, d := proposals[0].Scope, proposals[1].Scope
			require.Equal(t, []core.Stage{core.StagePrefill, core.StageDecode}, []core.Stage{p.Stage, d.Stage})
			s.win(effects, tt.prefill, tt.decode)
			binds := 0
			for ; effects[0].Kind == EffectBind; binds++ {
				effects = s.bound(r, effects)
			}
			// The configuration refuses pairs as yet, so the dispatch of one is a fault.
			require.Equal(t, errPair, effects[0].Fault)
			require.Equal(t, tt.last[0], prefill.last.Worker.ID)
			require.Equal(t, tt.last[1], decode.last.Worker.ID)
			require.Equal(t, tt.calls[0], prefill.calls)
			require.Equal(t, tt.calls[1], decode.calls)
			require.Equal(t, tt.binds, binds)
			require.Equal(t, store{p.Digest: tt.last[0], d.Digest: tt.last[1]}, s.store, "what is bound is what was picked")
			require.Zero(t, s.inflight())
		})
	}
}

// The next turn of the session finds both halves bound.
func TestH01_pair_is_kept(t *testing.T) {
	s, prefill, decode := pairScene(t)
	r, effects := s.ask("alice")
	s.bound(r, s.observed(r, effects))
	prefill.choose, decode.choose = to("p1"), to("d1")
	r, effects = s.ask("alice")
	require.Equal(t, errPair, s.observed(r, effects)[0].Fault)
	require.Equal(t, core.WorkerID("p0"), prefill.last.Worker.ID)
	require.Equal(t, core.WorkerID("d0"), decode.last.Worker.ID)
	require.Len(t, s.UsedBindings(nil), 2)
}

// A decode winner that admission rejects gives another version group its turn,
// and the bindings stay.
func TestPair_decode_winner_full(t *testing.T) {
	s, prefill, decode := pairScene(t)
	r, effects := s.ask("alice")
	effects = s.observed(r, effects)
	proposals := s.call(effects, EffectBind).Bind.Proposals
	p, d := proposals[0].Scope.Digest, proposals[1].Scope.Digest
	s.win(effects, "", "d1")
	decode.full["d1"] = true
	require.Equal(t, errPair, s.bound(r, effects)[0].Fault)
	require.Equal(t, core.WorkerID("p2"), prefill.last.Worker.ID)
	require.Equal(t, core.WorkerID("d2"), decode.last.Worker.ID)
	require.Equal(t, store{p: "p0", d: "d1"}, s.store)
	require.Equal(t, uint64(2), s.Counters[UnboundRejected])
}

// A new session whose first version group is full is bound where it goes.
func TestPair_new_session_in_another_version_group(t *testing.T) {
	s, _, decode := pairScene(t)
	decode.full["d0"] = true
	r, effects := s.ask("alice")
	effects = s.observed(r, effects)
	for _, p := range s.call(effects, EffectBind).Bind.Proposals {
		require.Contains(t, []core.WorkerID{"p2", "d2"}, p.Worker)
	}
	require.Equal(t, errPair, s.bound(r, effects)[0].Fault)
	require.Len(t, s.store, 2)
}
