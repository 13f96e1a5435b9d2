package flow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
)

func TestSentTokens(t *testing.T) {
	var s sentTokens
	a, b := &core.Worker{ID: "a", Slot: 0, Generation: 1}, &core.Worker{ID: "b", Slot: 1}
	require.Zero(t, s.of(a), "of an engine that nothing was sent")
	s.count(a, 100)
	s.count(b, 30)
	s.count(b, 30)
	require.Equal(t, []uint64{100, 60}, []uint64{s.of(a), s.of(b)})

	other := &core.Worker{ID: "a", Slot: 0, Generation: 1}
	require.EqualValues(t, 100, s.of(other), "another description of the same life")
	again := &core.Worker{ID: "a", Slot: 0, Generation: 2}
	require.Zero(t, s.of(again), "its next life")
	s.count(again, 7)
	require.EqualValues(t, 7, s.of(again))
	require.Zero(t, s.of(&core.Worker{ID: "c", Slot: 1}), "another engine in its place")
	require.Zero(t, s.of(&core.Worker{ID: "d", Slot: -1}), "an engine of no fleet")
}

// What was sent long ago counts less and less.
func TestSentTokens_forgets(t *testing.T) {
	var s sentTokens
	old, busy := &core.Worker{ID: "old", Slot: 0}, &core.Worker{ID: "busy", Slot: 1}
	s.count(old, 1000)
	for range 20 * sentHalfLife {
		s.count(busy, 1)
	}
	require.Less(t, s.of(old), uint64(2))
	require.Positive(t, s.of(busy))
}

func TestSentTokens_allocates_nothing(t *testing.T) {
	var s sentTokens
	w := &core.Worker{ID: "a", Slot: 999}
	s.count(w, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.count(w, s.of(w)) }))
}
