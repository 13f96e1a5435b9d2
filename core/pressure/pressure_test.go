package pressure_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/pressure"
)

// native makes a side with an idle native report, changed by edit.
func native(inflight uint64, edit func(*core.LoadReport)) pressure.Side {
	report := coretest.NativeReport()
	edit(report)
	return pressure.Side{Report: report, Inflight: inflight}
}

func TestCompare_prefill_order_of_fields(t *testing.T) {
	for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill} {
		tests := map[string]struct{ lower, higher pressure.Side }{
			"queue time beats queue length": {
				native(9, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(2000), 4000 }),
				native(0, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(1000), 1000 }),
			},
			"one queue time alone is not compared": {
				native(9, func(r *core.LoadReport) { r.WaitingUncached = core.Known(1000) }),
				native(0, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(2000), 1e9 }),
			},
			"uncached tokens beat waiting": {
				native(9, func(r *core.LoadReport) { r.WaitingUncached, r.Waiting = core.Known(1), core.Known(9) }),
				native(0, func(r *core.LoadReport) { r.WaitingUncached = core.Known(2) }),
			},
			"waiting beats running": {
				native(9, func(r *core.LoadReport) { r.Waiting, r.Running = core.Known(1), core.Known(9) }),
				native(0, func(r *core.LoadReport) { r.Waiting = core.Known(2) }),
			},
			"running beats in-flight": {
				native(9, func(r *core.LoadReport) { r.Running = core.Known(1) }),
				native(0, func(r *core.LoadReport) { r.Running = core.Known(2) }),
			},
			"in-flight breaks a reported tie": {
				native(1, func(r *core.LoadReport) { r.KVUsed = core.Known(900) }),
				native(2, func(r *core.LoadReport) {}),
			},
		}
		for name, tt := range tests {
			t.Run(stage.String()+"/"+name, func(t *testing.T) {
				require.Equal(t, -1, pressure.Compare(stage, tt.lower, tt.higher))
				require.Equal(t, +1, pressure.Compare(stage, tt.higher, tt.lower))
			})
		}
	}
}

func TestCompare_decode_order_of_fields(t *testing.T) {
	tests := map[string]struct{ lower, higher pressure.Side }{
		"waiting beats running": {
			native(9, func(r *core.LoadReport) { r.Waiting, r.Running = core.Known(1), core.Known(9) }),
			native(0, func(r *core.LoadReport) { r.Waiting = core.Known(2) }),
		},
		"running beats KV share": {
			native(9, func(r *core.LoadReport) { r.Running, r.KVUsed = core.Known(1), core.Known(999) }),
			native(0, func(r *core.LoadReport) { r.Running = core.Known(2) }),
		},
		"KV share beats KV tokens": {
			native(9, func(r *core.LoadReport) { r.KVUsed, r.KVCapacity = core.Known(500), core.Known(2000) }),
			native(0, func(r *core.LoadReport) { r.KVUsed, r.KVCapacity = core.Known(400), core.Known(1000) }),
		},
		"KV tokens beat in-flight": {
			native(9, func(r *core.LoadReport) { r.KVUsed, r.KVCapacity = core.Known(200), core.Known(1000) }),
			native(0, func(r *core.LoadReport) { r.KVUsed, r.KVCapacity = core.Known(400), core.Known(2000) }),
		},
		"in-flight breaks a reported tie": {
			native(1, func(r *core.LoadReport) { r.WaitingUncached = core.Known(900) }),
			native(2, func(r *core.LoadReport) {}),
		},
		"shares that float64 cannot tell apart": {
			native(9, func(r *core.LoadReport) {
				r.KVUsed, r.KVCapacity = core.Known(math.MaxUint64-2), core.Known(math.MaxUint64-1)
			}),
			native(0, func(r *core.LoadReport) {
				r.KVUsed, r.KVCapacity = core.Known(math.MaxUint64-1), core.Known(math.MaxUint64)
			}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, -1, pressure.Compare(core.StageDecode, tt.lower, tt.higher))
			require.Equal(t, +1, pressure.Compare(core.StageDecode, tt.higher, tt.lower))
		})
	}
}

// Without two native reports the in-flight counts decide, whatever one report says.
func TestCompare_never_mixes_reported_with_local(t *testing.T) {
	busy := native(1, func(r *core.LoadReport) { r.Waiting, r.Running = core.Known(50), core.Known(50) })
	tests := map[string]*core.LoadReport{
		"no report":           nil,
		"basic report":        {Running: core.Known(0), Waiting: core.Known(0)},
		"no KV capacity":      incomplete(func(r *core.LoadReport) { r.KVCapacity = core.Known(0) }),
		"no running capacity": incomplete(func(r *core.LoadReport) { r.RunningCapacity = core.Count{} }),
		"no uncached tokens":  incomplete(func(r *core.LoadReport) { r.WaitingUncached = core.Count{} }),
	}
	for name, report := range tests {
		t.Run(name, func(t *testing.T) {
			for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode} {
				require.Equal(t, -1, pressure.Compare(stage, busy, pressure.Side{Report: report, Inflight: 2}))
				require.Equal(t, 0, pressure.Compare(stage, busy, pressure.Side{Report: report, Inflight: 1}))
				require.Equal(t, +1, pressure.Compare(stage, busy, pressure.Side{Report: report, Inflight: 0}))
			}
		})
	}
}

func incomplete(edit func(*core.LoadReport)) *core.LoadReport {
	report := coretest.NativeReport()
	edit(report)
	return report
}

// A rate that is not finite is unknown, so the queue lengths decide.
func TestCompare_ignores_a_rate_that_is_not_finite(t *testing.T) {
	short := native(0, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(1), 0.001 })
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0} {
		long := native(0, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(2), rate })
		require.Equal(t, -1, pressure.Compare(core.StagePlain, short, long), "rate %v", rate)
		require.Equal(t, +1, pressure.Compare(core.StagePlain, long, short), "rate %v", rate)
	}
}

// The example that forbids sorting: each engine is below the next, in a circle.
func TestCompare_is_not_a_total_order(t *testing.T) {
	a := native(3, func(r *core.LoadReport) { r.Waiting = core.Known(1) })
	b := native(1, func(r *core.LoadReport) { r.Waiting = core.Known(2) })
	c := pressure.Side{Inflight: 2}
	require.Equal(t, -1, pressure.Compare(core.StagePlain, a, b), "both reported")
	require.Equal(t, -1, pressure.Compare(core.StagePlain, b, c), "in-flight")
	require.Equal(t, -1, pressure.Compare(core.StagePlain, c, a), "in-flight")
}

// Resident KV tokens are no load: an engine full of reusable cache is idle.
func TestA56_engine_full_of_cache_is_idle(t *testing.T) {
	cached := native(0, func(r *core.LoadReport) { r.KVUsed = core.Known(900) })
	busy := native(0, func(r *core.LoadReport) { r.KVUsed, r.Running = core.Known(200), core.Known(30) })
	for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode} {
		require.Equal(t, -1, pressure.Compare(stage, cached, busy))
	}
}

// side draws engines from few values, so that ties and all report kinds are common.
func side() *rapid.Generator[pressure.Side] {
	count := rapid.Custom(func(t *rapid.T) core.Count {
		n := rapid.OneOf(rapid.Uint64Range(0, 2), rapid.Uint64Range(math.MaxUint64-2, math.MaxUint64)).Draw(t, "n")
		return core.Count{N: n, Known: rapid.IntRange(0, 15).Draw(t, "known") > 0}
	})
	return rapid.Custom(func(t *rapid.T) pressure.Side {
		s := pressure.Side{Inflight: rapid.Uint64Range(0, 2).Draw(t, "inflight")}
		if rapid.IntRange(0, 7).Draw(t, "reported") == 0 {
			return s
		}
		s.Report = &core.LoadReport{
			Running: count.Draw(t, "running"), Waiting: count.Draw(t, "waiting"),
			WaitingUncached: count.Draw(t, "uncached"), KVUsed: count.Draw(t, "used"), KVTotal: count.Draw(t, "total"),
			KVCapacity: count.Draw(t, "capacity"), RunningCapacity: count.Draw(t, "slots"),
			PrefillRate: rapid.SampledFrom([]float64{0, 0, 1, 2, 1e-300}).Draw(t, "rate"),
		}
		return s
	})
}

func TestCompare_agrees_with_the_naive_oracle(t *testing.T) {
	stages := []core.Stage{core.StageNone, core.StagePlain, core.StagePrefill, core.StageDecode}
	rapid.Check(t, func(t *rapid.T) {
		stage := rapid.SampledFrom(stages).Draw(t, "stage")
		a, b := side().Draw(t, "a"), side().Draw(t, "b")
		got := pressure.Compare(stage, a, b)
		require.Equal(t, coretest.PressureOrder(stage, a, b), got)
		require.Equal(t, -got, pressure.Compare(stage, b, a), "antisymmetric")
		require.Zero(t, pressure.Compare(stage, a, a), "reflexive")
	})
}

func TestCompare_does_not_allocate(t *testing.T) {
	a, b := native(0, func(*core.LoadReport) {}), native(0, func(*core.LoadReport) {})
	require.Zero(t, testing.AllocsPerRun(100, func() { pressure.Compare(core.StageDecode, a, b) }))
}

func BenchmarkCompare(b *testing.B) {
	x, y := native(0, func(*core.LoadReport) {}), native(1, func(*core.LoadReport) {})
	for _, stage := range []core.Stage{core.StagePlain, core.StageDecode} {
		b.Run("stage="+stage.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pressure.Compare(stage, x, y)
			}
		})
	}
}
