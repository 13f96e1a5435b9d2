package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

func TestCharge_and_release(t *testing.T) {
	h := newHost(t, engine("e", 1))
	w := h.worker("e")
	var zero Charge
	require.False(t, zero.Held())
	require.Empty(t, zero.Worker())
	h.Release(&zero, EndComplete, 0) // A51: a release without a charge is ignored

	c := h.charge("e")
	require.True(t, c.Held())
	require.Equal(t, core.WorkerID("e"), c.Worker())
	require.Equal(t, uint64(1), h.Inflight(w))
	require.False(t, h.Charge(c, w, 0), "a charge holds one worker at a time")
	require.Equal(t, uint64(1), h.Inflight(w))

	h.Release(c, EndComplete, 0)
	h.Release(c, EndComplete, 0)
	require.Zero(t, h.Inflight(w))
	require.Equal(t, Charge{}, *c, "nothing of the worker is kept")
	require.True(t, h.Charge(c, w, 0), "a released charge is as good as new")
}

func TestRelease_in_any_order(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		h := newHost(t, engine("e", 1))
		charges := []*Charge{h.charge("e"), h.charge("e"), h.charge("e")}
		for i, at := range order {
			h.Release(charges[at], EndGone, 0)
			require.Equal(t, uint64(2-i), h.Inflight(h.worker("e")))
			require.Len(t, openAt(t, h.rows["e"]), 2-i)
		}
	}
}

// openAt walks the charges of a row and checks the links both ways.
func openAt(t require.TestingT, r *row) (list []*Charge) {
	var before *Charge
	for c := r.open; c != nil; before, c = c, c.next {
		require.Same(t, r, c.row)
		require.Equal(t, before, c.prev)
		list = append(list, c)
	}
	return list
}

// A49: whatever ends a request twice releases it once.
func TestA49_every_end_releases_once(t *testing.T) {
	for _, end := range []End{EndComplete, EndCut, EndGone} {
		h := newHost(t, engine("e", 1))
		c := h.charge("e")
		h.Unanswered(c, 0)
		h.Release(c, end, 0)
		h.Unanswered(c, 0)
		h.Answered(c, breaker.Failure, 0)
		h.Release(c, EndCut, 0)
		require.Zero(t, h.Inflight(h.worker("e")))
		require.Equal(t, uint32(1), h.rows["e"].breaker.Streak())
	}
}

// A05: news of the same life leaves the load as it is.
func TestA05_a_refreshed_worker_keeps_its_load(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.charge("e")
	h.delta(wire.SyncReply{States: []wire.WorkerState{{ID: "e", Generation: 1, OthersInflight: 5}}})
	sick := engine("e", 1)
	sick.Healthy = false
	h.delta(wire.SyncReply{Workers: []wire.Worker{sick}})
	h.delta(wire.SyncReply{Workers: []wire.Worker{engine("e", 1)}})
	require.Equal(t, uint64(6), h.Inflight(h.worker("e")))
}

// A07, A41: a restarted engine starts at zero and late releases of its former
// life change nothing.
func TestA41_late_releases_of_a_former_life_change_nothing(t *testing.T) {
	h := newHost(t, engine("e", 1))
	var old []*Charge
	for range 5 {
		old = append(old, h.charge("e"))
	}
	former := h.worker("e")
	h.full(engine("e", 2))
	w := h.worker("e")
	require.NotSame(t, former, w)
	require.Zero(t, h.Inflight(w))
	require.Zero(t, h.Inflight(former))

	fresh := h.charge("e")
	for _, c := range old {
		h.Answered(c, breaker.Failure, 0)
		h.Release(c, EndCut, 0)
	}
	require.Equal(t, uint64(1), h.Inflight(w))
	require.True(t, h.Available(w, 0), "failures of the former life do not count either")
	require.Empty(t, h.departed)
	h.Release(fresh, EndComplete, 0)
	require.Zero(t, h.Inflight(w))
}

// A50: a worker that leaves and comes back with requests in flight.
func TestA50_removed_and_added_again(t *testing.T) {
	for name, generation := range map[string]uint64{"same life": 1, "another life": 2} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1), engine("other", 1))
			h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 9, 0)}})
			charges := []*Charge{h.charge("e"), h.charge("e"), h.charge("e")}
			h.delta(wire.SyncReply{Removed: []core.WorkerID{"e"}})
			require.Len(t, h.departed, 1)
			h.Release(charges[0], EndComplete, 0)
			h.delta(wire.SyncReply{Workers: []wire.Worker{engine("e", generation)}})
			want := uint64(2)
			if generation != 1 {
				want = 0
			}
			require.Equal(t, want, h.Inflight(h.worker("e")), "what others had is unknown by now")
			require.False(t, h.ReportAge(h.worker("e"), 0).Known)
			h.charge("e")
			h.Release(charges[1], EndComplete, 0)
			h.Release(charges[2], EndComplete, 0)
			require.Equal(t, uint64(1), h.Inflight(h.worker("e")))
			require.Empty(t, h.departed)
		})
	}
}

func TestDeparted_rows_go_with_their_last_charge(t *testing.T) {
	h := newHost(t, engine("e", 1), engine("idle", 1))
	a, b := h.charge("e"), h.charge("e")
	h.full()
	require.Len(t, h.departed, 1, "a former member without charges is forgotten at once")
	h.Release(a, EndGone, 0)
	require.Len(t, h.departed, 1)
	h.Release(b, EndGone, 0)
	require.Empty(t, h.departed)
	require.Empty(t, h.rows)
}

// An unknown generation is no evidence of a restart, in either direction.
func TestGeneration_unknown_is_not_another_life(t *testing.T) {
	h := newHost(t, engine("e", 0))
	h.charge("e")
	for _, step := range []struct{ generation, inflight uint64 }{{4, 1}, {0, 1}, {4, 1}, {0, 1}, {5, 0}} {
		h.full(engine("e", step.generation))
		require.Equal(t, step.inflight, h.Inflight(h.worker("e")), step.generation)
	}
}
