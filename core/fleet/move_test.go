package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A moved charge counts for the engine that serves, also where its breaker would
// refuse it, and is released there once.
func TestMove_to_an_engine_whose_breaker_is_open(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	h.fail("b", 3)
	b := h.worker("b")
	require.False(t, h.Available(b, h.now))
	c := h.charge("a")
	require.True(t, h.Move(c, b, h.now))
	require.EqualValues(t, 1, h.Inflight(b))
	require.Zero(t, h.Inflight(h.worker("a")))
	h.Release(c, EndComplete, h.now)
	require.Zero(t, h.Inflight(b))
	require.False(t, h.Available(b, h.now), "one answer that nobody claimed closes no breaker")
}

func TestMove_to_a_former_member_holds_nothing(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	b := h.worker("b")
	c := h.charge("a")
	h.full(engine("a", 1))
	require.False(t, h.Move(c, b, h.now))
	require.False(t, c.Held())
	require.Zero(t, h.Inflight(h.worker("a")))
}

func TestFault_counts_and_holds_nothing(t *testing.T) {
	h := newHost(t, engine("a", 1))
	a := h.worker("a")
	for range 3 {
		require.True(t, h.Available(a, h.now))
		h.Fault(a, h.now)
	}
	require.False(t, h.Available(a, h.now))
	require.Zero(t, h.Inflight(a))
}
