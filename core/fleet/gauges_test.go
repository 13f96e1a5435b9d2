package fleet

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

func TestGauges_name_workers_with_something_to_say(t *testing.T) {
	h := newHost(t, engine("idle", 1), engine("busy", 2), engine("failing", 3), engine("open", 4), engine("answered", 5), engine("gone", 6))
	h.charge("busy")
	h.charge("gone")
	h.hang("failing", 1)
	h.hang("open", 3)
	h.now = 50
	h.serve("answered")
	h.delta(wire.SyncReply{Removed: []core.WorkerID{"gone"}})
	require.Equal(t, []wire.WorkerGauge{
		{ID: "busy", Generation: 2, Inflight: 1, RecentAges: []uint32{1}},
		{ID: "failing", Generation: 3, BreakerStreak: 1, FailedAge: core.Known(300)},
		{ID: "open", Generation: 4, BreakerStreak: 3, BreakerOpen: true, FailedAge: core.Known(300)},
		{ID: "answered", Generation: 5, AnsweredAge: core.Known(250)},
	}, h.Gauges(nil, 300, 200))
}

// hang ends n requests that no engine answered.
func (h *host) hang(id string, n int) {
	for range n {
		h.Release(h.charge(id), EndCut, h.now)
	}
}

func TestGauges_ages_are_in_ticks_newest_first_and_younger_than_five_seconds(t *testing.T) {
	h := newHost(t, engine("e", 1))
	for _, at := range []core.Instant{0, 1, 200, 399, 400, 4800, 5000} {
		h.now = at
		h.charge("e")
	}
	gauge := func(now core.Instant, tick uint32) wire.WorkerGauge { return h.Gauges(nil, now, tick)[0] }
	require.Equal(t, []uint32{0, 1, 23, 23, 24, 24}, gauge(5000, 200).RecentAges, "the one sent at 0 is 5 s old")
	require.Equal(t, uint32(7), gauge(5000, 200).Inflight)
	require.Equal(t, []uint32{0, 200, 4600, 4601, 4800, 4999}, gauge(5000, 0).RecentAges, "a tick is a millisecond at least")
	require.Empty(t, gauge(60_000, 200).RecentAges)
	require.Equal(t, []uint32{0, 0, 0, 0, 0, 0, 0}, gauge(-5, 200).RecentAges, "a clock that went back makes no negative age")
}

func TestGauges_are_bounded(t *testing.T) {
	h := newHost(t, engine("e", 1))
	for i := range 1000 {
		h.now = core.Instant(i)
		h.charge("e")
	}
	g := h.Gauges(nil, 1000, 1)[0]
	require.Equal(t, uint32(1000), g.Inflight)
	require.Len(t, g.RecentAges, maxRecentAges)
	require.Equal(t, uint32(1), g.RecentAges[0], "the newest are kept")
	require.Equal(t, uint32(maxRecentAges), g.RecentAges[maxRecentAges-1])
}

// The caller's list is used again and again; what it held before never shows.
func TestGauges_reuse_the_list(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	first, second := h.charge("a"), h.charge("b")
	h.charge("b")
	list := h.Gauges(nil, 0, 200)
	require.Len(t, list, 2)
	h.Release(first, EndGone, 0)
	list = h.Gauges(list[:0], 400, 200)
	require.Equal(t, []wire.WorkerGauge{{ID: "b", Generation: 1, Inflight: 2, RecentAges: []uint32{2, 2}}}, list)
	h.Answered(second, breaker.Success, 400)
	require.Zero(t, testing.AllocsPerRun(100, func() { list = h.Gauges(list[:0], 400, 200) }))
	require.Equal(t, []wire.WorkerGauge{{ID: "b", Generation: 1, Inflight: 2, RecentAges: []uint32{2, 2}, AnsweredAge: core.Known(0)}}, list)
	kept := h.Gauges(list, 400, 200)
	require.Len(t, kept, 2, "what the list has is kept")
}

// The service probes an engine that failed after its last probe at once, so only
// the engine's own faults are failures, each at the instant it showed.
func TestGauges_failed_age(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*host, *Charge)
		end    End
		want   core.Count
	}{
		"error status":  {func(h *host, c *Charge) { h.Answered(c, breaker.Failure, 100) }, EndComplete, core.Known(900)},
		"unreachable":   {func(h *host, c *Charge) { h.Unanswered(c, 100) }, EndCut, core.Known(900)},
		"cut stream":    {func(h *host, c *Charge) { h.Answered(c, breaker.Success, 100) }, EndCut, core.Known(500)},
		"never began":   {func(*host, *Charge) {}, EndCut, core.Known(500)},
		"good":          {func(h *host, c *Charge) { h.Answered(c, breaker.Success, 100) }, EndComplete, core.Count{}},
		"back-pressure": {func(h *host, c *Charge) { h.Answered(c, breaker.Neutral, 100) }, EndComplete, core.Count{}},
		"client left":   {func(h *host, c *Charge) { h.Answered(c, breaker.Success, 100) }, EndGone, core.Count{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1))
			c := h.charge("e")
			h.charge("e") // so that there is something to say
			tt.answer(h, c)
			h.Release(c, tt.end, 500)
			require.Equal(t, tt.want, h.Gauges(nil, 1000, 200)[0].FailedAge)
		})
	}
}

func TestGauges_tell_of_the_present_life_only(t *testing.T) {
	h := newHost(t, engine("e", 1))
	old := h.charge("e")
	h.full(engine("e", 2))
	h.Answered(old, breaker.Failure, 0)
	require.Empty(t, h.Gauges(nil, 0, 200))
}

func BenchmarkGauges(b *testing.B) {
	var workers []wire.Worker
	for i := range 100 {
		workers = append(workers, engine(string(rune('A'+i)), 1))
	}
	h := newHost(b, workers...)
	for _, w := range h.Serving("m") {
		for range 10 {
			h.Charge(&Charge{}, w, 0)
		}
	}
	var list []wire.WorkerGauge
	b.ReportAllocs()
	for b.Loop() {
		list = h.Gauges(list[:0], 400, 200)
	}
}
