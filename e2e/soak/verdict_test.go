package soak

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

const runLength = 1_000_000

// series samples a made-up value 250 times over a run.
func series(value func(requests int) float64) []Point {
	points := make([]Point, 0, samples)
	for i := range samples {
		requests := (i + 1) * runLength / samples
		points = append(points, Point{requests, value(requests)})
	}
	return points
}

func TestJudge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(width float64) float64 { return width * random.NormFloat64() }
	allowance := Allowance{Absolute: 4, Relative: 0.05}
	for _, tc := range []struct {
		name  string
		value func(int) float64
		grew  bool
	}{
		{"constant", func(int) float64 { return 100 }, false},
		{"noise", func(int) float64 { return 100 + noise(5) }, false},
		{"a warm-up that takes the first fifth", func(n int) float64 { return 100 * min(1, float64(n)/(runLength/5)) }, false},
		{"spikes in the last fifth", func(n int) float64 {
			if n > runLength*4/5 && n/4000%3 == 0 {
				return 1000
			}
			return 100
		}, false},
		{"a busier end that comes to rest", func(n int) float64 {
			if n > runLength*4/5 && n/4000%5 != 0 {
				return 120
			}
			return 100
		}, false},
		{"shrinking", func(n int) float64 { return 200 - float64(n)/20_000 }, false},
		{"below the allowance", func(n int) float64 { return 100 + 4*float64(n)/runLength }, false},
		{"a leak of 10 bytes a request", func(n int) float64 { return 100 + 10*float64(n)/mib }, true},
		{"a leak under noise", func(n int) float64 { return 100 + 30*float64(n)/runLength + noise(3) }, true},
		{"a steep leak, whose own slope is not noise", func(n int) float64 { return float64(n) }, true},
		{"a leak that begins late", func(n int) float64 { return 100 + max(0, float64(n-runLength/2))/10_000 }, true},
		{"one goroutine in 10,000 requests", func(n int) float64 { return float64(40 + n/10_000) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Judge(series(tc.value), runLength, allowance)
			require.True(t, v.Judged)
			require.Equal(t, tc.grew, v.Grew, "%+v", v)
		})
	}
}

func TestJudge_figures(t *testing.T) {
	v := Judge(series(func(n int) float64 { return float64(n) / 1000 }), runLength, Allowance{})
	require.InDelta(t, 150, v.Warm, 5)
	require.InDelta(t, 300, v.Second, 5)
	require.InDelta(t, 900, v.Last, 5)
	require.InDelta(t, 100, v.Per100k, 0.1)
	require.InDelta(t, 1000, v.End, 0)
	require.InDelta(t, 1000, v.Max, 0)
}

// A run that is too short is told, not judged.
func TestJudge_short_runs(t *testing.T) {
	points := []Point{{10, 1}, {40, 2}, {100, 1000}}
	require.False(t, Judge(points, 100, Allowance{}).Judged)
	require.False(t, Judge(points, 100, Allowance{}).Grew)
	require.Equal(t, Verdict{}, Judge(nil, runLength, Allowance{}))
}
