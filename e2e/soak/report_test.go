package soak

import (
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/soak/engine"
	"github.com/pointsman/pointsman/e2e/soak/stage"
	"github.com/stretchr/testify/require"
)

// goodReport is a run in which everything was as asked.
func goodReport() *Report {
	plan := Plan{Requests: 100_000, Large: 10, Seed: 1}
	asked := plan.Asked()
	tally := &Tally{}
	var routed int64
	for i := range plan.Requests {
		kind := plan.Kind(i)
		tally.add(i, kind, plan.Want(kind), plan.Want(kind))
		least, _ := kind.routed()
		routed += int64(least)
	}
	return &Report{
		Options: Options{Plan: plan, Clients: 1}, Host: "Envoy", Elapsed: time.Minute, Tally: tally,
		Rows: []*Row{{Name: "memory", Unit: "MiB", Allowance: Allowance{1, 0}, Points: shortSeries(plan.Requests, 0)}},
		Settled: &Settled{
			Engines: engine.Counts{Received: routed + int64(asked[LostOnce]), Lost: int64(asked[LostOnce])},
			Reading: stage.Reading{Counters: map[string]int64{
				routedCounter: routed, releasedCounter: routed, replacedCounter: int64(asked[LostOnce]),
				badCounter: int64(asked[NotJSON]), noModelCounter: int64(asked[NoModel]),
			}},
		},
	}
}

// shortSeries rises by so much over a run.
func shortSeries(requests int, rise float64) []Point {
	var points []Point
	for i := range 100 {
		points = append(points, Point{(i + 1) * requests / 100, 10 + rise*float64(i)/100})
	}
	return points
}

func TestReport_of_a_good_run(t *testing.T) {
	r := goodReport()
	require.Empty(t, r.Problems())
	var text strings.Builder
	require.NoError(t, r.Write(&text, "soak"))
	require.Contains(t, text.String(), "**Envoy: good**")
	require.NotContains(t, text.String(), "BAD")
}

// Each thing that can go wrong is a problem of its own.
func TestReport_finds(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil   func(*Report)
		problem string
	}{
		"growth":            {func(r *Report) { r.Rows[0].Points = shortSeries(100_000, 5) }, "memory grew"},
		"an error":          {func(r *Report) { r.Tally.add(1, Whole, "503", "200") }, "1 requests did not end as asked"},
		"a kept charge":     {func(r *Report) { r.Settled.Reading.Counters[releasedCounter]-- }, "charges released"},
		"in flight":         {func(r *Report) { r.Settled.Inflight = 3 }, "in flight at the state service: 3, must be 0"},
		"an open request":   {func(r *Report) { r.Settled.Engines.Open = 1 }, "in flight at the engines: 1, must be 0"},
		"a lost request":    {func(r *Report) { r.Settled.Reading.Counters[routedCounter] = 1 }, "routed by the filter"},
		"a lost attempt":    {func(r *Report) { r.Settled.Engines.Received++ }, "attempts that reached the engines"},
		"a failed VM":       {func(r *Report) { r.Settled.Reading.Reloads = 1 }, "VMs that failed"},
		"a line of trouble": {func(r *Report) { r.FaultCount, r.Faults = 1, []Fault{{5, "fatal error"}} }, "fault lines"},
	} {
		t.Run(name, func(t *testing.T) {
			r := goodReport()
			tc.spoil(r)
			require.Contains(t, strings.Join(r.Problems(), "; "), tc.problem)
			var text strings.Builder
			require.NoError(t, r.Write(&text, "soak"))
			require.Contains(t, text.String(), "**Envoy: bad: ")
		})
	}
}
