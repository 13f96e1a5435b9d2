package soak

import (
	"math"
	"slices"
)

// Point is one sample of something: its value after so many requests.
type Point struct {
	Requests int
	Value    float64
}

// Allowance is what may come on top without being growth.
type Allowance struct {
	Absolute float64 // in the unit of the samples
	Relative float64 // of the median of the second fifth
}

// JudgeFrom is the fewest requests whose growth is judged: in a shorter run
// caches and pools are still filling.
const JudgeFrom = 50_000

// Verdict says whether something grew over a run.
//
// The rule compares medians, so that a spike counts for nothing: that of the
// second fifth of the run, when everything is warm, and that of the last fifth.
// It grew when the last is higher by more than the allowance and by more than
// noiseFactor times the noise, the median absolute deviation within the second
// fifth. A steady leak is never taken for noise: between the two fifths it rises
// by three fifths of the run's growth, and its own deviation within a fifth is a
// twentieth.
//
// The smallest value must be higher by as much: what leaks is never given back,
// while a busier machine holds more open at a time and still comes to rest.
type Verdict struct {
	Warm    float64 // median of the second tenth: after warm-up
	Second  float64 // median of the second fifth
	Last    float64 // median of the last fifth
	End     float64 // the last sample
	Max     float64
	Per100k float64 // growth from the second to the last fifth for 100,000 requests
	Judged  bool    // false for a run shorter than JudgeFrom or without samples in both fifths
	Grew    bool
}

const noiseFactor = 4

// Judge applies the rule to the samples of a run, in order.
func Judge(points []Point, requests int, a Allowance) Verdict {
	if len(points) == 0 {
		return Verdict{}
	}
	fifth := func(n int) []float64 { return between(points, requests*(n-1)/5, requests*n/5) }
	second, last := fifth(2), fifth(5)
	v := Verdict{
		Warm: median(between(points, requests/10, requests/5)), Second: median(second), Last: median(last),
		End: points[len(points)-1].Value,
		Max: slices.MaxFunc(points, func(a, b Point) int { return int(math.Copysign(1, a.Value-b.Value)) }).Value,
	}
	if requests < JudgeFrom || len(second) == 0 || len(last) == 0 {
		return v
	}
	growth := v.Last - v.Second
	rest := slices.Min(last) - slices.Min(second)
	v.Judged = true
	v.Per100k = growth / (float64(requests) * 3 / 5) * 100_000
	v.Grew = min(growth, rest) > max(a.Absolute, a.Relative*v.Second, noiseFactor*deviation(second))
	return v
}

// between are the values of the samples after more than from and at most to
// requests.
func between(points []Point, from, to int) []float64 {
	var values []float64
	for _, p := range points {
		if p.Requests > from && p.Requests <= to {
			values = append(values, p.Value)
		}
	}
	return values
}

// median is NaN for nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// deviation is the median absolute deviation.
func deviation(values []float64) float64 {
	m := median(values)
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - m)
	}
	return median(away)
}
