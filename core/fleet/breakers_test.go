package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/stretchr/testify/require"
)

// fail ends n requests of the worker in failure.
func (h *host) fail(id string, n int) {
	for range n {
		c := h.charge(id)
		h.Answered(c, breaker.Failure, h.now)
		h.Release(c, EndComplete, h.now)
	}
}

// serve ends one request of the worker well.
func (h *host) serve(id string) {
	c := h.charge(id)
	h.Answered(c, breaker.Success, h.now)
	h.Release(c, EndComplete, h.now)
}

func TestBreaker_door_may_close_between_pick_and_charge(t *testing.T) {
	h := newHost(t, engine("e", 1))
	w := h.worker("e")
	h.fail("e", 3)
	c := &Charge{}
	require.False(t, h.Available(w, 0))
	require.False(t, h.Charge(c, w, 0))
	require.False(t, c.Held())
	require.Zero(t, h.Inflight(w), "nothing was taken")
}

func TestBreaker_probe_is_claimed_at_dispatch(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.fail("e", 3)
	h.now += breaker.DefaultCoolDown
	w := h.worker("e")
	require.True(t, h.Available(w, h.now))
	require.True(t, h.Available(w, h.now), "looking is not claiming")
	probe := h.charge("e")
	require.False(t, h.Available(w, h.now), "one probe at a time")
	require.False(t, h.Charge(&Charge{}, w, h.now))
	h.Release(probe, EndGone, h.now)
	require.True(t, h.Available(w, h.now), "a cancelled probe gives its place back")
	require.Equal(t, uint32(3), h.rows["e"].breaker.Streak())
}

// B05: a good beginning is no success while the answer can still break off.
func TestB05_success_counts_when_the_answer_ends(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.fail("e", 2)
	c := h.charge("e")
	h.Answered(c, breaker.Success, 0)
	require.Equal(t, uint32(2), h.rows["e"].breaker.Streak())
	h.Release(c, EndComplete, 0)
	require.Zero(t, h.rows["e"].breaker.Streak())

	h.fail("e", 2)
	c = h.charge("e")
	h.Answered(c, breaker.Success, 0)
	h.Release(c, EndCut, 0)
	require.Equal(t, uint32(3), h.rows["e"].breaker.Streak(), "counted, and once")
	require.False(t, h.Available(h.worker("e"), 0))
}

// B05, B06: a probe lets others in when its answer begins, and what becomes of
// the answer still counts.
func TestB05_probe_counts_by_its_end(t *testing.T) {
	for name, tt := range map[string]struct {
		end       End
		streak    uint32
		available bool
	}{
		"complete":  {EndComplete, 0, true},
		"cut":       {EndCut, 4, false},
		"cancelled": {EndGone, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1))
			h.fail("e", 3)
			h.now += breaker.DefaultCoolDown
			w, probe := h.worker("e"), h.charge("e")
			h.Answered(probe, breaker.Success, h.now)
			require.True(t, h.Available(w, h.now), "a stream does not keep the engine out")
			h.now += 60_000
			h.Release(probe, tt.end, h.now)
			require.Equal(t, tt.streak, h.rows["e"].breaker.Streak())
			require.Equal(t, tt.available, h.Available(w, h.now))
		})
	}
}

// A probe that is answered after another one took its place decides nothing and
// does not take the place.
func TestBreaker_late_answer_of_a_lapsed_probe(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.fail("e", 3)
	h.now += breaker.DefaultCoolDown
	late := h.charge("e")
	h.now += breaker.DefaultCoolDown
	probe := h.charge("e")
	h.Answered(late, breaker.Success, h.now)
	require.False(t, h.Available(h.worker("e"), h.now))
	h.Release(late, EndComplete, h.now)
	require.Equal(t, uint32(3), h.rows["e"].breaker.Streak())
	h.Answered(probe, breaker.Failure, h.now)
	require.Equal(t, uint32(4), h.rows["e"].breaker.Streak())

	h.now += breaker.DefaultCoolDown
	late = h.charge("e")
	h.now += breaker.DefaultCoolDown
	h.Release(h.charge("e"), EndGone, h.now)
	h.Answered(late, breaker.Success, h.now)
	require.True(t, h.Available(h.worker("e"), h.now), "the place is free for a new probe")
}

func TestBreaker_outcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		run    func(*host, *Charge)
		streak uint32
	}{
		"failure at the headers": {func(h *host, c *Charge) { h.Answered(c, breaker.Failure, 0); h.Release(c, EndComplete, 0) }, 3},
		"no answer":              {func(h *host, c *Charge) { h.Unanswered(c, 0); h.Release(c, EndCut, 0) }, 3},
		"cut before the headers": {func(h *host, c *Charge) { h.Release(c, EndCut, 0) }, 3},
		"client leaves early":    {func(h *host, c *Charge) { h.Release(c, EndGone, 0) }, 2},
		"client leaves a stream": {func(h *host, c *Charge) { h.Answered(c, breaker.Success, 0); h.Release(c, EndGone, 0) }, 2},
		"back-pressure":          {func(h *host, c *Charge) { h.Answered(c, breaker.Neutral, 0); h.Release(c, EndComplete, 0) }, 2},
		"back-pressure, cut":     {func(h *host, c *Charge) { h.Answered(c, breaker.Neutral, 0); h.Release(c, EndCut, 0) }, 2},
		"answered by the proxy":  {func(h *host, c *Charge) { h.Release(c, EndComplete, 0) }, 2},
		"success":                {func(h *host, c *Charge) { h.Answered(c, breaker.Success, 0); h.Release(c, EndComplete, 0) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1))
			h.fail("e", 2)
			tt.run(h, h.charge("e"))
			require.Equal(t, tt.streak, h.rows["e"].breaker.Streak())
			require.Zero(t, h.Inflight(h.worker("e")))
		})
	}
}

func TestBreaker_half_opens_when_the_engine_recovers_or_restarts(t *testing.T) {
	recovered := engine("e", 1)
	recovered.Recoveries = 1
	for name, news := range map[string]func(*host){
		"recovered probe": func(h *host) { h.full(recovered) },
		"new generation":  func(h *host) { h.full(engine("e", 2)) },
		"another life after it left": func(h *host) {
			h.full()
			h.full(engine("e", 2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1))
			h.charge("e") // an open request, for which a member that left is remembered
			h.fail("e", 3)
			require.False(t, h.Available(h.worker("e"), 0))
			news(h)
			require.True(t, h.Available(h.worker("e"), 0))
			h.charge("e")
			require.False(t, h.Available(h.worker("e"), 0), "half-open, not closed")
		})
	}
	t.Run("the same count again", func(t *testing.T) {
		h := newHost(t, recovered)
		h.fail("e", 3)
		h.full(recovered)
		lower := engine("e", 1)
		h.full(lower) // another replica counts on its own
		require.False(t, h.Available(h.worker("e"), 0))
	})
}

func TestBreaker_configuration_reaches_each_worker(t *testing.T) {
	f := New(breaker.Config{Threshold: 1, CoolDown: 50}, []core.Worker{{ID: "e", Models: []string{"m"}, Stage: core.StagePlain}})
	h := &host{Fleet: f, t: t}
	h.fail("e", 1)
	require.False(t, f.Available(h.worker("e"), 49))
	require.True(t, f.Available(h.worker("e"), 50))
	h.now = 50
	h.serve("e")
	require.True(t, f.Available(h.worker("e"), 50))
}
