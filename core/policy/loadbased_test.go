package policy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// basicReport knows what runs and waits, as older publishers and metrics do.
func basicReport(running, waiting uint64) *core.LoadReport {
	return &core.LoadReport{Running: core.Known(running), Waiting: core.Known(waiting)}
}

func TestLoadBased_adds_up_waiting_and_running(t *testing.T) {
	engines, loads := coretest.Workers(3), &coretest.Loads{}
	loads.SetReport(engines[0], basicReport(5, 0))
	loads.SetReport(engines[1], basicReport(1, 3))
	loads.SetReport(engines[2], basicReport(0, 6))
	loads.SetInflight(engines[1], 50)
	require.Same(t, engines[1], take(t, loadBased(t, admission.Limits{}, loads), engines, coretest.PickRequest(1, core.StagePlain)), "in-flight decides ties only")
}

// A pick counts at once, although the report that does not know of it stays; a
// new report counts it itself.
func TestLoadBased_counts_what_was_sent_since_the_report(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	loads.SetInflight(engines[0], 4)
	loads.SetReport(engines[0], basicReport(4, 0))
	loads.SetReport(engines[1], basicReport(0, 0))
	p := loadBased(t, admission.Limits{}, loads)
	req := coretest.PickRequest(1, core.StagePlain)
	for range 4 {
		w := take(t, p, engines, req)
		require.Same(t, engines[1], w)
		loads.Charge(w)
	}
	loads.SetReport(engines[1], basicReport(3, 0)) // one of the four has ended
	require.Same(t, engines[1], take(t, p, engines, req), "no request is counted twice")
}

func TestLoadBased_one_unknown_report_leaves_all_to_inflight(t *testing.T) {
	for name, report := range map[string]*core.LoadReport{
		"none": nil, "no running": {Waiting: core.Known(0)}, "no waiting": {Running: core.Known(0)},
	} {
		engines, loads := coretest.Workers(3), &coretest.Loads{}
		loads.SetReport(engines[0], basicReport(0, 0))
		loads.SetInflight(engines[0], 3)
		loads.SetReport(engines[1], basicReport(90, 90))
		loads.SetInflight(engines[1], 1)
		loads.SetReport(engines[2], report)
		loads.SetInflight(engines[2], 2)
		require.Same(t, engines[1], take(t, loadBased(t, admission.Limits{}, loads), engines, coretest.PickRequest(1, core.StagePlain)), name)
	}
}

func TestLoadBased_passes_over_the_rejected(t *testing.T) {
	engines, loads := coretest.Workers(3), &coretest.Loads{}
	for i, used := range []uint64{900, 100, 100} {
		report := basicReport(uint64(i), 0)
		report.KVTotal = core.Known(used)
		loads.SetReport(engines[i], report)
	}
	p := loadBased(t, admission.Limits{MaxKVTokens: new(uint64(800))}, loads)
	require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(1, core.StageDecode)), "the least loaded is full")

	full := loadBased(t, admission.Limits{MaxKVTokens: new(uint64(100))}, loads)
	_, err := full.Pick(engines, coretest.PickRequest(1, core.StageDecode))
	var exhausted *core.NoAdmissibleError
	require.ErrorAs(t, err, &exhausted)
	require.Equal(t, core.StageDecode, exhausted.Stage)
	require.Equal(t, []core.Rejection{
		{Worker: "w0000", Limit: "max_kv_tokens", Value: 900, Cap: 100},
		{Worker: "w0001", Limit: "max_kv_tokens", Value: 100, Cap: 100},
		{Worker: "w0002", Limit: "max_kv_tokens", Value: 100, Cap: 100},
	}, exhausted.Rejections)
}

func TestLoadBased_ties_rotate_and_spare_choices_do_not(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	loads.SetInflight(engines[1], 1)
	p, err := policy.NewLoadBased(admission.Limits{}, loads, 7)
	require.NoError(t, err)
	for _, want := range []int{2, 3, 0, 2, 3} {
		spare := coretest.PickRequest(1, core.StagePlain)
		spare.Spare = true
		require.Same(t, engines[want], take(t, p, engines, spare))
		require.Same(t, engines[want], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	}
}

func TestLoadBased_scores_do_not_start_over(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	loads.SetReport(engines[0], basicReport(math.MaxUint64, 2))
	loads.SetReport(engines[1], basicReport(5, 5))
	require.Same(t, engines[1], take(t, loadBased(t, admission.Limits{}, loads), engines, coretest.PickRequest(1, core.StagePlain)))
}

// Serial traffic without load information spreads evenly, whatever the size of
// the pool, and prefill and decode rotate apart.
func TestLoadBased_serial_traffic_is_even(t *testing.T) {
	for n := range 12 {
		engines, loads := coretest.Workers(n+1), &coretest.Loads{}
		prefill, decode := loadBased(t, admission.Limits{}, loads), loadBased(t, admission.Limits{}, loads)
		p, d := map[core.WorkerID]int{}, map[core.WorkerID]int{}
		for range 100 * len(engines) {
			p[take(t, prefill, engines, coretest.PickRequest(1, core.StagePrefill)).ID]++
			d[take(t, decode, engines, coretest.PickRequest(1, core.StageDecode)).ID]++
		}
		for _, w := range engines {
			require.Equal(t, []int{100, 100}, []int{p[w.ID], d[w.ID]})
		}
	}
}

// The winner is an admitted engine of the lowest naive score, and which ones
// share it does not depend on the order of the candidates.
func TestLoadBased_agrees_with_the_naive_minimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engines, loads := coretest.Workers(rapid.IntRange(1, 9).Draw(t, "n")), &coretest.Loads{}
		small := rapid.Uint64Range(0, 3)
		for _, w := range engines {
			if rapid.IntRange(0, 8).Draw(t, "reported") > 0 {
				loads.SetReport(w, basicReport(small.Draw(t, "running"), small.Draw(t, "waiting")))
			}
			loads.SetInflight(w, small.Draw(t, "before"))
			for range small.Draw(t, "since") {
				loads.Charge(w)
			}
		}
		limit := rapid.Uint64Range(1, 6).Draw(t, "cap")
		best := naiveLowest(engines, loads, limit)
		p, err := policy.NewLoadBased(capInflight(limit), loads, small.Draw(t, "start"))
		require.NoError(t, err)
		order := rapid.Permutation(engines).Draw(t, "order")
		seen := map[*core.Worker]bool{}
		for range best {
			pick, err := p.Pick(order, coretest.PickRequest(1, core.StagePlain))
			require.NoError(t, err)
			require.Contains(t, best, pick.Worker)
			seen[pick.Worker] = true
		}
		require.Len(t, seen, len(best), "ties take turns")
		if len(best) == 0 {
			_, err := p.Pick(order, coretest.PickRequest(1, core.StagePlain))
			require.Len(t, core.Rejections(err), len(engines))
		}
	})
}

// naiveLowest lists the admitted engines of the lowest load in the words of
// engine-selection.md 6 and 8.4.
func naiveLowest(engines []*core.Worker, loads *coretest.Loads, limit uint64) (best []*core.Worker) {
	reported := true
	for _, w := range engines {
		_, ok := loads.Report(w, 0)
		reported = reported && ok
	}
	key := func(w *core.Worker) [2]uint64 {
		if !reported {
			return [2]uint64{loads.Inflight(w)}
		}
		r, _ := loads.Report(w, 0)
		return [2]uint64{r.Running.N + r.Waiting.N + loads.SinceReport(w), loads.Inflight(w)}
	}
	for _, w := range engines {
		if loads.Inflight(w) >= limit {
			continue
		}
		if len(best) > 0 {
			a, b := key(w), key(best[0])
			if a[0] > b[0] || a[0] == b[0] && a[1] > b[1] {
				continue
			}
			if a != b {
				best = best[:0]
			}
		}
		best = append(best, w)
	}
	return best
}
