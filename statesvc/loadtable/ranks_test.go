package loadtable_test

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/loadtable"
	"github.com/stretchr/testify/require"
)

func basic(running uint64) engine.LoadStat {
	return engine.LoadStat{Running: running, Waiting: 1, KVUsed: 10, KVCapacity: 100}
}

func native(running, tokens, micros uint64) engine.LoadStat {
	s := basic(running)
	s.HasNative = true
	s.Native = engine.NativeLoad{WaitingUncached: 7, KVTotal: 20, MaxRunning: 8, PrefillTokens: tokens, PrefillMicros: micros}
	return s
}

func TestRanks_everyRankCounts(t *testing.T) {
	r := loadtable.NewRanks(5000, 2)
	_, _, ok := r.Report(0)
	require.False(t, ok)
	r.Put(0, native(1, 0, 0), 100)
	_, _, ok = r.Report(100)
	require.False(t, ok, "rank 1 is missing")
	r.Put(7, native(1, 0, 0), 100)
	_, _, ok = r.Report(100)
	require.False(t, ok, "rank 7 is none of the two")
	r.Put(1, native(2, 0, 0), 300)
	report, at, ok := r.Report(300)
	require.True(t, ok)
	require.EqualValues(t, 100, at, "as old as its oldest part")
	require.Equal(t, core.LoadReport{
		Running: core.Known(3), Waiting: core.Known(2), WaitingUncached: core.Known(14),
		KVUsed: core.Known(20), KVTotal: core.Known(40), KVCapacity: core.Known(200), RunningCapacity: core.Known(16),
	}, report)
	require.True(t, report.Native())
	_, _, ok = r.Report(5100)
	require.True(t, ok)
	_, _, ok = r.Report(5101)
	require.False(t, ok, "rank 0 is stale")
}

func TestRanks_oneBasicRankMakesAllBasic(t *testing.T) {
	for name, other := range map[string]engine.LoadStat{
		"older publisher": basic(1),
		"no capacity":     {HasNative: true, Native: engine.NativeLoad{MaxRunning: 1}},
		"no most running": {HasNative: true, KVCapacity: 5},
	} {
		r := loadtable.NewRanks(5000, 0)
		r.Put(0, native(1, 0, 0), 0)
		r.Put(1, other, 0)
		report, _, ok := r.Report(0)
		require.True(t, ok, name)
		require.False(t, report.Native(), name)
		require.Equal(t, other.KVCapacity > 0, report.KVCapacity.Known, name)
	}
}

// engine-selection.md 5.4: the rate needs two samples of every rank, and progress.
func TestRanks_prefillRate(t *testing.T) {
	type sample struct{ tokens, micros uint64 }
	for name, c := range map[string]struct {
		a, b [2]sample
		want float64
	}{
		"both move":         {[2]sample{{0, 0}, {1000, 500_000}}, [2]sample{{50, 10}, {150, 100_010}}, 3000},
		"one stands still":  {[2]sample{{0, 0}, {1000, 500_000}}, [2]sample{{50, 10}, {50, 10}}, 0},
		"one ran backwards": {[2]sample{{0, 0}, {1000, 500_000}}, [2]sample{{50, 10}, {10, 20}}, 0},
		"no time passed":    {[2]sample{{0, 0}, {1000, 0}}, [2]sample{{0, 0}, {1000, 500_000}}, 0},
	} {
		r := loadtable.NewRanks(5000, 2)
		for i := range 2 {
			r.Put(0, native(1, c.a[i].tokens, c.a[i].micros), core.Instant(i))
			report, _, _ := r.Report(core.Instant(i))
			require.Zero(t, report.PrefillRate, name)
			r.Put(1, native(1, c.b[i].tokens, c.b[i].micros), core.Instant(i))
		}
		report, _, ok := r.Report(1)
		require.True(t, ok, name)
		require.Equal(t, c.want, report.PrefillRate, name)
	}
}

func TestRanks_sumsDoNotWrap(t *testing.T) {
	r := loadtable.NewRanks(5000, 2)
	r.Put(0, basic(math.MaxUint64-1), 0)
	r.Put(1, basic(5), 0)
	report, _, _ := r.Report(0)
	require.Equal(t, core.Known(math.MaxUint64), report.Running)
}

// A basic reading does not hide a native one while that is fresh.
func TestTable_nativeComesFirst(t *testing.T) {
	full := loadtable.NewRanks(5000, 1)
	full.Put(0, native(1, 0, 0), 0)
	report, _, _ := full.Report(0)
	table := loadtable.New(5000)
	require.True(t, table.Put("a", loadtable.Reading{Report: report, At: 1000}))
	require.False(t, table.Put("a", reading(6000, 9)))
	require.True(t, table.Put("a", reading(6001, 9)))
	require.True(t, table.Put("a", loadtable.Reading{Report: report, At: 6002}))
}
