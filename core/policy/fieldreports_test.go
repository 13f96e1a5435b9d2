package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
)

// Tests of this file are named after the entry of field-reports.md whose Want
// they show.

// serve picks requests one after another, charging each at its pick.
func serve(t *testing.T, p picker, loads *coretest.Loads, engines []*core.Worker, stage core.Stage, n int) map[core.WorkerID]int {
	t.Helper()
	counts := map[core.WorkerID]int{}
	for seed := range n {
		w := take(t, p, engines, coretest.PickRequest(uint64(seed), stage))
		loads.Charge(w)
		counts[w.ID]++
	}
	return counts
}

// extremes gives the least and the most loaded count, engines without any included.
func extremes(counts map[core.WorkerID]int, engines []*core.Worker) (least, most int) {
	least = counts[engines[0].ID]
	for _, w := range engines {
		least, most = min(least, counts[w.ID]), max(most, counts[w.ID])
	}
	return least, most
}

// A burst of long prompts is split evenly, since a request counts from its pick.
func TestA02_burst_splits_evenly(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	counts := serve(t, powerOf(t, 2, admission.Limits{}, loads), loads, engines, core.StagePrefill, 16)
	require.Equal(t, map[core.WorkerID]int{"w0000": 8, "w0001": 8}, counts)
}

// A large fleet needs no special case.
func TestA14_five_thousand_engines(t *testing.T) {
	engines, loads := coretest.Workers(5000), &coretest.Loads{}
	loads.SetInflight(engines[4999], 0)
	for _, p := range each(t, capInflight(1), loads) {
		take(t, p, engines, coretest.PickRequest(1, core.StagePlain))
	}
	last := powerOf(t, 5000, admission.Limits{}, loads)
	for _, w := range engines[:4999] {
		loads.Charge(w)
	}
	require.Same(t, engines[4999], take(t, last, engines, coretest.PickRequest(1, core.StagePlain)))
}

// A pick's memory does not grow with the fleet.
func TestA15_thousand_engines_cost_no_allocation(t *testing.T) {
	engines, loads := coretest.Workers(1000), &coretest.Loads{}
	loads.SetInflight(engines[999], 0)
	for _, req := range []*core.PickRequest{keyed(""), keyed("session-42")} {
		for _, p := range each(t, capInflight(9), loads) {
			take(t, p, engines, req)
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Pick(engines, req) }), p.Name())
		}
	}
}

// Strictly serial traffic ties at every pick and still reaches both engines.
func TestA21_serial_traffic_uses_both_engines(t *testing.T) {
	engines := coretest.Workers(2)
	for _, p := range each(t, admission.Limits{}, &coretest.Loads{}) {
		counts := map[core.WorkerID]int{}
		for seed := range uint64(448) {
			counts[take(t, p, engines, coretest.PickRequest(seed, core.StagePlain)).ID]++
		}
		require.InDelta(t, 224, counts["w0000"], 53, "%s: five standard deviations", p.Name())
	}
}

// Decode engines share a steady concurrency evenly.
func TestA24_decode_engines_share_evenly(t *testing.T) {
	engines, loads := coretest.Workers(5), &coretest.Loads{}
	p := powerOf(t, 2, admission.Limits{}, loads)
	var running []*core.Worker
	counts := map[core.WorkerID]int{}
	for seed := range uint64(5000) {
		w := take(t, p, engines, coretest.PickRequest(seed, core.StageDecode))
		loads.Charge(w)
		counts[w.ID]++
		if running = append(running, w); len(running) > 384 {
			loads.Release(running[0])
			running = running[1:]
		}
	}
	least, most := extremes(counts, engines)
	require.LessOrEqual(t, float64(most), 1.2*float64(least), "%v", counts)
}

// An engine above its KV cap is never picked while another one is below.
func TestA26_engine_above_the_cap_is_never_picked(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	for i, used := range []uint64{950, 200} {
		report := coretest.NativeReport()
		report.KVUsed, report.KVTotal = core.Known(used), core.Known(used)
		loads.SetReport(engines[i], report)
	}
	limits := admission.Limits{MaxKVTokens: new(uint64(800))}
	for _, p := range []picker{roundRobin(t, limits, loads), random(t, limits, loads), loadBased(t, limits, loads)} {
		for seed := range uint64(100) {
			require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(seed, core.StageDecode)), p.Name())
		}
	}
	for seed := range uint64(100) {
		require.Same(t, engines[1], take(t, powerOf(t, 2, limits, loads), engines, coretest.PickRequest(seed, core.StageDecode)))
	}
}

// A new engine is at zero in flight, which is known, so it is taken at once.
func TestA30_new_engine_gets_its_share_at_once(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	for _, w := range engines[:3] {
		loads.SetInflight(w, 20)
	}
	for _, p := range []picker{powerOf(t, 4, admission.Limits{}, loads), loadBased(t, admission.Limits{}, loads)} {
		loads.SetInflight(engines[3], 0)
		counts := serve(t, p, loads, engines, core.StagePlain, 20)
		require.Equal(t, 20, counts[engines[3].ID], p.Name())
	}
}

// A frozen report of a tie leaves the choice to the requests sent since.
func TestA32_inflight_decides_when_reports_stand_still(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	for _, w := range engines {
		loads.SetReport(w, coretest.NativeReport())
	}
	for _, p := range []picker{powerOf(t, 4, admission.Limits{}, loads), loadBased(t, admission.Limits{}, loads)} {
		counts := serve(t, p, loads, engines, core.StagePlain, 20)
		least, most := extremes(counts, engines)
		require.Equal(t, []int{5, 5}, []int{least, most}, p.Name())
	}
}

// Frozen reports in which one engine is behind by 12: it gets nothing before the
// others have caught up with it.
func TestA32_frozen_report_is_corrected(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	for i, w := range engines {
		loads.SetReport(w, basicReport(0, uint64(12-4*i)))
	}
	p := loadBased(t, admission.Limits{}, loads)
	counts := serve(t, p, loads, engines, core.StagePlain, 24)
	require.Equal(t, map[core.WorkerID]int{"w0001": 4, "w0002": 8, "w0003": 12}, counts, "12, 8, 4 and 0 wait")
	counts = serve(t, p, loads, engines, core.StagePlain, 20)
	least, most := extremes(counts, engines)
	require.Equal(t, []int{5, 5}, []int{least, most})
}

// Waves of equal requests: reports scraped now and then, corrected by what was
// sent since, are no worse than counting requests.
func TestA34_waves_are_no_worse_than_counting_requests(t *testing.T) {
	const concurrency, rounds, scrape = 800, 6, 97
	peak := func(reported bool) (most int) {
		engines, loads := coretest.Workers(8), &coretest.Loads{}
		p := loadBased(t, admission.Limits{}, loads)
		var running []*core.Worker
		for i := range concurrency * rounds {
			if reported && i%scrape == 0 {
				for _, w := range engines {
					loads.SetReport(w, basicReport(loads.Inflight(w), 0))
				}
			}
			if len(running) == concurrency {
				for _, w := range running {
					loads.Release(w)
				}
				running = running[:0]
			}
			w := take(t, p, engines, coretest.PickRequest(1, core.StagePlain))
			loads.Charge(w)
			running = append(running, w)
			most = max(most, int(loads.Inflight(w)))
		}
		return most
	}
	require.Equal(t, concurrency/8, peak(false))
	require.LessOrEqual(t, peak(true), peak(false))
}

// Each pick sees the picks before it, although all share one set of reports.
// The sample is the whole fleet: a sample of two bounds the spread loosely.
func TestA35_picks_on_one_snapshot_spread(t *testing.T) {
	engines, loads := coretest.Workers(8), &coretest.Loads{}
	for _, w := range engines {
		loads.SetReport(w, coretest.NativeReport())
	}
	for _, p := range []picker{powerOf(t, 8, admission.Limits{}, loads), loadBased(t, admission.Limits{}, loads)} {
		counts := serve(t, p, loads, engines, core.StagePlain, 64)
		least, most := extremes(counts, engines)
		require.Equal(t, []int{8, 8}, []int{least, most}, p.Name())
	}
}

// An engine that nothing is known of but its own counter joins the comparison.
func TestA57_engine_without_a_report_is_compared_by_inflight(t *testing.T) {
	engines, loads := coretest.Workers(3), &coretest.Loads{}
	loads.SetInflight(engines[0], 5)
	loads.SetInflight(engines[2], 9)
	for seed := range uint64(30) {
		require.Same(t, engines[1], take(t, powerOf(t, 3, admission.Limits{}, loads), engines, coretest.PickRequest(seed, core.StagePlain)))
	}
}

// Small fleets get the exact minimum; large ones the minimum of the sample.
func TestA62_sample_is_exact_for_small_fleets(t *testing.T) {
	for _, n := range []int{4, 200} {
		engines, loads := coretest.Workers(n), &coretest.Loads{}
		for i, w := range engines {
			loads.SetInflight(w, uint64(n-i))
		}
		p := powerOf(t, 8, admission.Limits{}, loads)
		sum := 0
		for seed := range uint64(200) {
			sum += take(t, p, engines, coretest.PickRequest(seed, core.StagePlain)).Slot
		}
		if n == 4 {
			require.Equal(t, 200*3, sum, "always the least loaded")
			continue
		}
		require.Greater(t, sum/200, n*3/4, "mean rank of the best of 8 is 8/9 of the fleet")
	}
}

// A fallback after a rejection stays within the candidates.
func TestB09_fallback_stays_within_the_candidates(t *testing.T) {
	fleet, loads := coretest.Workers(6), &coretest.Loads{}
	subset := fleet[2:4]
	loads.SetInflight(subset[0], 1)
	for _, p := range []picker{roundRobin(t, capInflight(1), loads), random(t, capInflight(1), loads), loadBased(t, capInflight(1), loads)} {
		for seed := range uint64(50) {
			require.Same(t, subset[1], take(t, p, subset, coretest.PickRequest(seed, core.StagePlain)), p.Name())
		}
	}
}

// The KV cap stands beside the request counts.
func TestJ07_kv_usage_triggers_beside_request_counts(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	full := coretest.NativeReport()
	full.KVTotal = core.Known(1000)
	loads.SetReport(engines[0], full)
	limits := admission.Limits{MaxKVTokens: new(uint64(1000)), MaxInflightRequests: new(uint64(64))}
	p := roundRobin(t, limits, loads)
	for range 10 {
		require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	}
}
