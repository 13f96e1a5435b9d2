// Package table turns rounds of measurements into Markdown tables.
package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Series are the values of one figure, one per round.
type Series []float64

// Median is the middle value, or the mean of the two.
func (s Series) Median() float64 { return s.Quantile(0.5) }

// Quantile interpolates between the values; NaN without any.
func (s Series) Quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Over divides by the same round of another series.
func (s Series) Over(base Series) Series {
	return s.with(base, func(a, b float64) float64 { return a / b })
}

// Minus subtracts the same round of another series.
func (s Series) Minus(base Series) Series {
	return s.with(base, func(a, b float64) float64 { return a - b })
}

// Times multiplies every value.
func (s Series) Times(factor float64) Series {
	return s.with(s, func(a, _ float64) float64 { return a * factor })
}

func (s Series) with(other Series, f func(a, b float64) float64) Series {
	out := make(Series, min(len(s), len(other)))
	for i := range out {
		out[i] = f(s[i], other[i])
	}
	return out
}

// Text is the median with the first and third quartile, in the given number of
// decimals.
func (s Series) Text(decimals int) string {
	if len(s) == 0 {
		return "-"
	}
	at := func(q float64) string { return strconv.FormatFloat(s.Quantile(q), 'f', decimals, 64) }
	return fmt.Sprintf("%s (%s to %s)", at(0.5), at(0.25), at(0.75))
}
