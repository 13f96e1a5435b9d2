package bucket_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
)

// estimates makes a bucket; 0 is no estimate.
func estimates(t testing.TB, id string, most core.Tokens, ttft uint64, tps float64) *bucket.Bucket {
	s := bucket.Spec{ID: id, Max: &most, Groups: bucket.Plain(group(&scripted{}))}
	if ttft > 0 {
		s.TTFTMillis = &ttft
	}
	if tps > 0 {
		s.TokensPerSecond = &tps
	}
	return mustNew(t, s)
}

func preferring(t testing.TB, p bucket.Preferences, buckets ...*bucket.Bucket) *bucket.Resolver {
	r, err := bucket.NewResolver(buckets, p)
	require.NoError(t, err)
	require.Equal(t, p, r.Preferences())
	return r
}

func TestParsePreference(t *testing.T) {
	for name, want := range map[string]bucket.Preference{
		"": bucket.PreferenceDisabled, "disabled": bucket.PreferenceDisabled,
		"slo_first": bucket.PreferenceSLOFirst, "best_effort": bucket.PreferenceBestEffort,
	} {
		got, ok := bucket.ParsePreference(name)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := bucket.ParsePreference("slo-first")
	require.False(t, ok)
}

func TestResolver_orders_by_targets(t *testing.T) {
	const off, first, best = bucket.PreferenceDisabled, bucket.PreferenceSLOFirst, bucket.PreferenceBestEffort
	ttft, tps := new(uint64(500)), new(30.0)
	for name, tt := range map[string]struct {
		prefer  bucket.Preferences
		targets bucket.Targets
		want    []string
	}{
		"no target":                  {bucket.Preferences{TTFT: first, TPS: first}, bucket.Targets{}, []string{"a", "b", "c", "d"}},
		"disabled":                   {bucket.Preferences{}, bucket.Targets{TTFTMillis: ttft, TokensPerSecond: tps}, []string{"a", "b", "c", "d"}},
		"disabled, invalid":          {bucket.Preferences{TTFT: off, TPS: off}, bucket.Targets{TTFTMillis: new(uint64(0)), TokensPerSecond: new(-1.0)}, []string{"a", "b", "c", "d"}},
		"the other target":           {bucket.Preferences{TPS: first}, bucket.Targets{TTFTMillis: ttft}, []string{"a", "b", "c", "d"}},
		"first token first":          {bucket.Preferences{TTFT: first}, bucket.Targets{TTFTMillis: ttft}, []string{"b", "c", "a", "d"}},
		"kept for last":              {bucket.Preferences{TTFT: best}, bucket.Targets{TTFTMillis: ttft}, []string{"a", "d", "b", "c"}},
		"rate first":                 {bucket.Preferences{TPS: first}, bucket.Targets{TokensPerSecond: tps}, []string{"a", "c", "b", "d"}},
		"both weigh the same":        {bucket.Preferences{TTFT: first, TPS: first}, bucket.Targets{TTFTMillis: ttft, TokensPerSecond: tps}, []string{"c", "a", "b", "d"}},
		"one each way":               {bucket.Preferences{TTFT: first, TPS: best}, bucket.Targets{TTFTMillis: ttft, TokensPerSecond: tps}, []string{"b", "c", "d", "a"}},
		"an estimate at the target":  {bucket.Preferences{TTFT: first}, bucket.Targets{TTFTMillis: new(uint64(400))}, []string{"b", "a", "c", "d"}},
		"nobody meets it":            {bucket.Preferences{TTFT: first}, bucket.Targets{TTFTMillis: new(uint64(1))}, []string{"a", "b", "c", "d"}},
		"the other target, one only": {bucket.Preferences{TTFT: first, TPS: first}, bucket.Targets{TTFTMillis: ttft}, []string{"b", "c", "a", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := preferring(t, tt.prefer,
				estimates(t, "d", 400, 0, 0), estimates(t, "c", 300, 500, 30), estimates(t, "b", 200, 400, 0), estimates(t, "a", 100, 900, 40))
			got, err := r.Resolve(50, core.Count{}, tt.targets)
			require.NoError(t, err)
			require.Equal(t, tt.want, ids(got))
			got, err = r.Resolve(150, core.Count{}, tt.targets)
			require.NoError(t, err)
			require.Equal(t, slices.DeleteFunc(tt.want, func(id string) bool { return id == "a" }), ids(got), "length comes first")
		})
	}
}

func TestResolver_targets_that_make_no_sense(t *testing.T) {
	r := preferring(t, bucket.Preferences{TTFT: bucket.PreferenceSLOFirst, TPS: bucket.PreferenceBestEffort}, estimates(t, "a", 9, 1, 1))
	for _, targets := range []bucket.Targets{
		{TTFTMillis: new(uint64(0))},
		{TokensPerSecond: new(0.0)},
		{TokensPerSecond: new(-1.0)},
		{TokensPerSecond: new(math.NaN())},
		{TokensPerSecond: new(math.Inf(1))},
	} {
		_, err := r.Resolve(1, core.Count{}, targets)
		var invalid *core.InvalidSignalError
		require.ErrorAs(t, err, &invalid)
	}
}

func TestNew_estimates_that_make_no_sense(t *testing.T) {
	_, err := bucket.New(bucket.Spec{ID: "b", TTFTMillis: new(uint64(0)), TokensPerSecond: new(math.NaN()), Groups: bucket.Plain(group(&scripted{}))})
	require.EqualError(t, err, `invalid configuration: bucket "b": a time to first token of 0 ms is no estimate; leave it out for none
invalid configuration: bucket "b": NaN tokens per second is no estimate; leave it out for none`)
}

func TestResolver_with_targets_does_not_allocate(t *testing.T) {
	r := preferring(t, bucket.Preferences{TTFT: bucket.PreferenceSLOFirst, TPS: bucket.PreferenceBestEffort}, estimates(t, "a", 9, 1, 1), estimates(t, "b", 10, 5, 5))
	targets := bucket.Targets{TTFTMillis: new(uint64(3)), TokensPerSecond: new(3.0)}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := r.Resolve(5, core.Known(9), targets); err != nil {
			t.Error(err)
		}
	}))
}

// naivePenalty is the table of engine-selection.md 2.2.
func naivePenalty(p bucket.Preference, known, met bool) int {
	table := map[bucket.Preference][2]int{bucket.PreferenceSLOFirst: {0, 1}, bucket.PreferenceBestEffort: {1, 0}}
	if !known {
		return 0
	}
	return table[p][map[bool]int{true: 0, false: 1}[met]]
}

func TestResolver_targets_agree_with_the_naive_sort(t *testing.T) {
	preference := rapid.SampledFrom([]bucket.Preference{bucket.PreferenceDisabled, bucket.PreferenceSLOFirst, bucket.PreferenceBestEffort})
	small, rate := rapid.Ptr(rapid.Uint64Range(1, 4), true), rapid.Ptr(rapid.SampledFrom([]float64{0.5, 1, 2}), true)
	rapid.Check(t, func(rt *rapid.T) {
		prefer := bucket.Preferences{TTFT: preference.Draw(rt, "ttft"), TPS: preference.Draw(rt, "tps")}
		targets := bucket.Targets{TTFTMillis: small.Draw(rt, "target ttft"), TokensPerSecond: rate.Draw(rt, "target tps")}
		var buckets []*bucket.Bucket
		for i := range rapid.IntRange(1, 8).Draw(rt, "n") {
			buckets = append(buckets, mustNew(t, bucket.Spec{
				ID: fmt.Sprint(i), Rank: rapid.Uint32Range(0, 1).Draw(rt, "rank"), Max: rapid.Ptr(rapid.Uint64Range(5, 7), true).Draw(rt, "max"),
				TTFTMillis: small.Draw(rt, "ttft"), TokensPerSecond: rate.Draw(rt, "tps"), Groups: bucket.Plain(group(&scripted{})),
			}))
		}
		got, err := preferring(t, prefer, rapid.Permutation(buckets).Draw(rt, "order")...).Resolve(1, core.Count{}, targets)
		require.NoError(rt, err)
		penalty := func(b *bucket.Bucket) int {
			s := b.Spec()
			return naivePenalty(prefer.TTFT, targets.TTFTMillis != nil, targets.TTFTMillis != nil && s.TTFTMillis != nil && *s.TTFTMillis <= *targets.TTFTMillis) +
				naivePenalty(prefer.TPS, targets.TokensPerSecond != nil, targets.TokensPerSecond != nil && s.TokensPerSecond != nil && *s.TokensPerSecond >= *targets.TokensPerSecond)
		}
		capacity := func(b *bucket.Bucket) core.Tokens {
			if b.Spec().Max == nil {
				return math.MaxUint64
			}
			return *b.Spec().Max
		}
		slices.SortFunc(buckets, func(a, b *bucket.Bucket) int {
			return cmp.Or(cmp.Compare(penalty(a), penalty(b)), cmp.Compare(capacity(a), capacity(b)), cmp.Compare(a.Spec().Rank, b.Spec().Rank), cmp.Compare(a.ID(), b.ID()))
		})
		require.Equal(rt, ids(buckets), ids(got))
	})
}
