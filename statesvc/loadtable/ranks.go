package loadtable

import (
	"math"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// Ranks adds up what the ranks of one worker report, each by itself. Like a Table it is
// pure, and not safe for concurrent use.
type Ranks struct {
	freshness core.Instant
	expected  int
	rows      map[uint32]*rankRow
}

// rankRow is a rank's last report and the one before it, whose native counts give the
// throughput.
type rankRow struct {
	at     core.Instant
	stat   engine.LoadStat
	before engine.LoadStat
}

// NewRanks makes an empty set of ranks 0 to expected-1; 0 takes the ranks that report as
// all there are. A report counts for freshness milliseconds, inclusive.
func NewRanks(freshness core.Instant, expected int) *Ranks {
	return &Ranks{freshness: freshness, expected: expected, rows: map[uint32]*rankRow{}}
}

// Empty is a set of the same ranks of which nothing is known.
func (r *Ranks) Empty() *Ranks { return NewRanks(r.freshness, r.expected) }

// Put replaces the report of a rank. Ranks beyond the expected ones are left out.
func (r *Ranks) Put(rank uint32, stat engine.LoadStat, at core.Instant) {
	if r.expected > 0 && rank >= uint32(r.expected) {
		return
	}
	row := r.rows[rank]
	if row == nil {
		r.rows[rank] = &rankRow{at: at, stat: stat}
		return
	}
	row.before, row.stat, row.at = row.stat, stat, at
}

// Report sums the ranks, false unless every required one has a fresh report: there is no
// partial sum (engine-selection.md 5.4). The instant is the oldest report's. The report
// is native when every rank's is complete, and has a prefill rate when every rank's last
// two reports give one.
func (r *Ranks) Report(now core.Instant) (core.LoadReport, core.Instant, bool) {
	if len(r.rows) == 0 || len(r.rows) < r.expected {
		return core.LoadReport{}, 0, false
	}
	oldest := now
	var sum engine.LoadStat
	native, capacity, rate := true, true, 0.0
	for _, row := range r.rows {
		if now-row.at > r.freshness {
			return core.LoadReport{}, 0, false
		}
		oldest = min(oldest, row.at)
		s := &row.stat
		native = native && s.HasNative && s.KVCapacity > 0 && s.Native.MaxRunning > 0
		capacity = capacity && s.KVCapacity > 0
		addRank(&sum, s)
		rate += row.rate() // NaN when unknown, and so is the sum
	}
	return report(&sum, native, capacity, rate), oldest, true
}

func report(sum *engine.LoadStat, native, capacity bool, rate float64) core.LoadReport {
	out := core.LoadReport{
		Running: core.Known(sum.Running), Waiting: core.Known(sum.Waiting), KVUsed: core.Known(sum.KVUsed),
	}
	if capacity {
		out.KVCapacity = core.Known(sum.KVCapacity)
	}
	if native {
		out.WaitingUncached, out.KVTotal = core.Known(sum.Native.WaitingUncached), core.Known(sum.Native.KVTotal)
		out.RunningCapacity = core.Known(sum.Native.MaxRunning)
		if !math.IsNaN(rate) && !math.IsInf(rate, 0) {
			out.PrefillRate = rate
		}
	}
	return out
}

// rate is uncached prompt tokens per second, NaN when the last two reports do not tell:
// counters that did not move, or ran backwards.
func (r *rankRow) rate() float64 {
	now, before := &r.stat.Native, &r.before.Native
	if !r.stat.HasNative || !r.before.HasNative || now.PrefillTokens <= before.PrefillTokens || now.PrefillMicros <= before.PrefillMicros {
		return math.NaN()
	}
	return 1e6 * float64(now.PrefillTokens-before.PrefillTokens) / float64(now.PrefillMicros-before.PrefillMicros)
}

func addRank(sum, s *engine.LoadStat) {
	for _, pair := range [][2]*uint64{
		{&sum.Running, &s.Running},
		{&sum.Waiting, &s.Waiting},
		{&sum.KVUsed, &s.KVUsed},
		{&sum.KVCapacity, &s.KVCapacity},
		{&sum.Native.WaitingUncached, &s.Native.WaitingUncached},
		{&sum.Native.KVTotal, &s.Native.KVTotal},
		{&sum.Native.MaxRunning, &s.Native.MaxRunning},
	} {
		if *pair[0] += *pair[1]; *pair[0] < *pair[1] {
			*pair[0] = math.MaxUint64
		}
	}
}
