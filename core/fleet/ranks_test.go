package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// ranked is an engine of several ranks.
func ranked(id string, ranks uint32) wire.Worker {
	w := engine(id, 1)
	w.Ranks = ranks
	return w
}

func TestRanks_are_charged_and_released_once(t *testing.T) {
	h := newHost(t, ranked("e", 2))
	w := h.worker("e")
	c := h.charge("e")
	h.ChargeRank(c, 1)
	h.ChargeRank(c, 0) // a request is on one rank
	require.Equal(t, [2]uint64{0, 1}, [2]uint64{h.RankInflight(w, 0), h.RankInflight(w, 1)})
	h.Release(c, EndComplete, 0)
	h.Release(c, EndComplete, 0)
	require.Zero(t, h.RankInflight(w, 1))

	var none Charge
	h.ChargeRank(&none, 0) // nothing is held
	c = h.charge("e")
	h.ChargeRank(c, 2) // no such rank
	require.Zero(t, h.RankInflight(w, 0)+h.RankInflight(w, 2))
	h.Release(c, EndGone, 0)
	require.Zero(t, h.RankInflight(w, 0)+h.RankInflight(w, 1))
}

// What was charged to a former life of the engine does not touch the present one.
func TestRanks_of_a_former_life(t *testing.T) {
	h := newHost(t, ranked("e", 2))
	c := h.charge("e")
	h.ChargeRank(c, 1)
	next := ranked("e", 2)
	next.Generation = 2
	h.apply(wire.SyncReply{Full: true, Workers: []wire.Worker{next}})
	w := h.worker("e")
	require.Zero(t, h.RankInflight(w, 1))
	other := h.charge("e")
	h.ChargeRank(other, 1)
	h.Release(c, EndComplete, 0)
	require.Equal(t, uint64(1), h.RankInflight(w, 1))
}

func TestRanks_least(t *testing.T) {
	h := newHost(t, ranked("e", 3), ranked("unknown", 0), ranked("huge", 1<<31))
	w := h.worker("e")
	var order []uint64
	for range 6 {
		rank := h.LeastRank(w, nil, 2)
		h.ChargeRank(h.charge("e"), rank.N)
		order = append(order, rank.N)
	}
	require.Equal(t, []uint64{2, 0, 1, 2, 0, 1}, order, "in turn, from the offset on")
	h.ChargeRank(h.charge("e"), 1)
	h.ChargeRank(h.charge("e"), 2)
	for range 3 {
		require.Equal(t, core.Known(0), h.LeastRank(w, nil, 0))
		require.Equal(t, core.Known(0), h.LeastRank(w, []uint32{0, 2}, 0))
	}
	require.Equal(t, core.Known(1), h.LeastRank(w, []uint32{1}, 0))
	require.False(t, h.LeastRank(h.worker("unknown"), nil, 0).Known)
	require.False(t, h.LeastRank(h.worker("huge"), nil, 0).Known)
	require.False(t, h.LeastRank(&core.Worker{Ranks: 4}, nil, 0).Known, "no member")
}
