package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

func TestSinceReport_counts_open_charges_the_report_cannot_know(t *testing.T) {
	h := newHost(t, engine("e", 1), engine("other", 1))
	w := h.worker("e")
	charges := map[int]*Charge{}
	for _, at := range []int{1000, 1100, 1200} {
		h.now = core.Instant(at)
		charges[at] = h.charge("e")
	}
	require.EqualValues(t, 3, h.SinceReport(w), "nothing was reported yet")

	h.now = 1300
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 7, 200)}})
	require.EqualValues(t, 2, h.SinceReport(w), "one sent in the very millisecond of the report counts")
	require.Zero(t, h.SinceReport(h.worker("other")))

	h.Release(charges[1000], EndComplete, h.now)
	require.EqualValues(t, 2, h.SinceReport(w), "it was in the report")
	h.Release(charges[1200], EndComplete, h.now)
	require.EqualValues(t, 1, h.SinceReport(w))

	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 7, 0)}})
	require.Zero(t, h.SinceReport(w), "the next report knows them all")
	h.charge("e")
	require.EqualValues(t, 1, h.SinceReport(w))
}

func TestSinceReport_follows_a_moved_charge(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	c := h.charge("a")
	require.True(t, h.Move(c, h.worker("b"), h.now))
	require.Zero(t, h.SinceReport(h.worker("a")))
	require.EqualValues(t, 1, h.SinceReport(h.worker("b")))
}

func TestSinceReport_belongs_to_one_life(t *testing.T) {
	h := newHost(t, engine("e", 1))
	c, former := h.charge("e"), h.worker("e")
	h.full(engine("e", 2))
	require.Zero(t, h.SinceReport(h.worker("e")))
	require.Zero(t, h.SinceReport(former), "a former object has no row")
	h.Answered(c, breaker.Success, h.now)
	h.Release(c, EndComplete, h.now)
	require.Zero(t, h.SinceReport(h.worker("e")))
}
