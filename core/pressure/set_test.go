package pressure_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

func setOf(sides ...pressure.Side) (s pressure.Set) {
	for _, side := range sides {
		s.Add(side)
	}
	return s
}

func timed(tokens uint64, rate float64, inflight uint64) pressure.Side {
	return native(inflight, func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(tokens), rate })
}

func TestSet_source(t *testing.T) {
	basic := pressure.Side{Report: &core.LoadReport{Running: core.Known(1), Waiting: core.Known(1)}}
	for want, sides := range map[string][][]pressure.Side{
		"estimated_prefill_queue_ms": {{}, {timed(1, 1, 0)}, {timed(1, 1, 0), timed(0, 9, 0)}},
		"native_queue_tokens":        {{timed(1, 0, 0)}, {timed(1, 1, 0), timed(1, math.NaN(), 0)}, {timed(1, math.Inf(1), 0), timed(1, 1, 0)}},
		"router_local":               {{{}}, {timed(1, 1, 0), basic}, {{}, timed(1, 1, 0), timed(1, 0, 0)}},
	} {
		for _, s := range sides {
			require.Equal(t, want, setOf(s...).Source().String())
			slices.Reverse(s)
			require.Equal(t, want, setOf(s...).Source().String())
		}
	}
	require.Equal(t, "none", pressure.Source(9).String())
}

func TestSet_compares_by_what_all_have(t *testing.T) {
	quick, long := timed(20, 1000, 9), timed(10, 10, 0)
	require.Equal(t, -1, setOf(quick, long).Compare(quick, long), "20 ms below 1 s")
	require.Equal(t, +1, setOf(quick, long, timed(0, 0, 0)).Compare(quick, long), "20 tokens above 10")
	require.Equal(t, +1, setOf(quick, long, pressure.Side{}).Compare(quick, long), "9 in flight above 0")

	fields := []pressure.Side{
		timed(5, 0, 0),
		native(9, func(r *core.LoadReport) { r.WaitingUncached = core.Known(6) }),
		native(9, func(r *core.LoadReport) { r.WaitingUncached, r.Waiting = core.Known(6), core.Known(1) }),
		native(0, func(r *core.LoadReport) {
			r.WaitingUncached, r.Waiting, r.Running = core.Known(6), core.Known(1), core.Known(2)
		}),
		native(1, func(r *core.LoadReport) {
			r.WaitingUncached, r.Waiting, r.Running = core.Known(6), core.Known(1), core.Known(2)
		}),
	}
	set := setOf(fields...)
	for i, a := range fields {
		for j, b := range fields {
			require.Equal(t, cmp.Compare(i, j), set.Compare(a, b))
		}
	}
}

// Over any set the comparison is a total preorder, which the pairwise one is not.
func TestSet_is_a_preorder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sides []pressure.Side
		for range rapid.IntRange(3, 6).Draw(rt, "n") {
			side := timed(rapid.Uint64Range(0, 4).Draw(rt, "tokens"), rapid.SampledFrom([]float64{0, 1, 2, math.NaN()}).Draw(rt, "rate"), rapid.Uint64Range(0, 2).Draw(rt, "inflight"))
			if rapid.IntRange(0, 9).Draw(rt, "none") == 0 {
				side.Report = nil
			}
			sides = append(sides, side)
		}
		set := setOf(sides...)
		for _, a := range sides {
			for _, b := range sides {
				require.Equal(rt, set.Compare(a, b), -set.Compare(b, a))
				for _, c := range sides {
					if set.Compare(a, b) <= 0 && set.Compare(b, c) <= 0 {
						require.LessOrEqual(rt, set.Compare(a, c), 0)
					}
				}
			}
		}
	})
}

// A set of two compares as the pair does.
func TestSet_of_two_is_the_pair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func() pressure.Side {
			side := timed(rapid.Uint64Range(0, 3).Draw(rt, "tokens"), rapid.SampledFrom([]float64{0, 1, 2}).Draw(rt, "rate"), rapid.Uint64Range(0, 2).Draw(rt, "inflight"))
			if rapid.IntRange(0, 4).Draw(rt, "none") == 0 {
				side.Report = nil
			}
			return side
		}
		a, b := draw(), draw()
		require.Equal(rt, pressure.Compare(core.StagePrefill, a, b), setOf(a, b).Compare(a, b))
	})
}

func TestGuard(t *testing.T) {
	tokens := pressure.Guard{AbsTokens: 100, Rel: 1.5}
	millis := pressure.Guard{AbsTokens: 100, AbsMillis: new(50.0), Rel: 1.5}
	for _, tt := range []struct {
		name string
		g    pressure.Guard
		a, b pressure.Side
		more bool
	}{
		{"at the absolute threshold", tokens, timed(100, 0, 0), timed(0, 0, 0), false},
		{"above it", tokens, timed(101, 0, 0), timed(0, 0, 0), true},
		{"at the factor", tokens, timed(1500, 0, 0), timed(1000, 0, 0), false},
		{"above it", tokens, timed(1501, 0, 0), timed(1000, 0, 0), true},
		{"below the other", tokens, timed(0, 0, 0), timed(math.MaxUint64, 0, 0), false},
		{"the largest", tokens, timed(math.MaxUint64, 0, 0), timed(0, 0, 0), true},
		{"equal", pressure.Guard{Rel: 1.5}, timed(0, 0, 0), timed(0, 0, 0), false},
		{"time is not asked for", tokens, timed(101, 1e9, 0), timed(0, 1, 0), true},
		{"at 50 ms", millis, timed(50, 1000, 0), timed(0, 1000, 0), false},
		{"above 50 ms", millis, timed(51, 1000, 0), timed(0, 1000, 0), true},
		{"at the factor of time", millis, timed(300, 1000, 0), timed(200, 1000, 0), false},
		{"more tokens in less time", millis, timed(1000, 1e6, 0), timed(10, 100, 0), false},
		{"one estimate is none", millis, timed(101, 1000, 0), timed(0, 0, 0), true},
		{"one estimate is none", millis, timed(100, 0, 0), timed(0, 1000, 0), false},
	} {
		require.Equal(t, tt.more, tt.g.More(tt.a, tt.b), tt.name)
		if tt.more {
			require.False(t, tt.g.More(tt.b, tt.a), tt.name)
		}
	}
}
