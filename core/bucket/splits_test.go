package bucket_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
)

// Splits says whether Resolve gives the same list for every length in between.
func TestResolver_splits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.OneOf(rapid.Just[*core.Tokens](nil), rapid.Ptr(rapid.Uint64Range(1, 30), false))
		var buckets []*bucket.Bucket
		bounded := false
		for i := range rapid.IntRange(1, 4).Draw(t, "buckets") {
			s := bucket.Spec{ID: strconv.Itoa(i), Min: bound.Draw(t, "min"), Max: bound.Draw(t, "max"), MaxContext: bound.Draw(t, "context"), Groups: bucket.Plain(group(&scripted{}))}
			b, err := bucket.New(s)
			if err != nil {
				continue // bounds that exclude one another
			}
			bounded = bounded || s.Min != nil || s.Max != nil || s.MaxContext != nil
			buckets = append(buckets, b)
		}
		if len(buckets) == 0 {
			return
		}
		r, err := bucket.NewResolver(buckets, bucket.Preferences{})
		require.NoError(t, err)
		require.Equal(t, bounded, r.Bounded())

		low := rapid.Uint64Range(1, 35).Draw(t, "low")
		high := rapid.Uint64Range(low, 40).Draw(t, "high")
		output := core.Count{N: rapid.Uint64Range(0, 20).Draw(t, "output"), Known: rapid.Bool().Draw(t, "known")}
		if !output.Known {
			output.N = 0
		}
		resolved := func(input core.Tokens) []*bucket.Bucket {
			list, err := r.Resolve(input, core.Count{N: input + output.N, Known: output.Known}, bucket.Targets{})
			require.NoError(t, err)
			return slices.Clone(list)
		}
		same := true
		for input := low + 1; input <= high; input++ {
			same = same && slices.Equal(resolved(low), resolved(input))
		}
		require.Equal(t, !same, r.Splits(low, high, output))
	})
}

// A peak that is too large for a number fits no bound.
func TestResolver_splits_at_the_end_of_numbers(t *testing.T) {
	most := core.Tokens(1 << 20)
	b, err := bucket.New(bucket.Spec{ID: "b", MaxContext: &most, Groups: bucket.Plain(group(&scripted{}))})
	require.NoError(t, err)
	r, err := bucket.NewResolver([]*bucket.Bucket{b}, bucket.Preferences{})
	require.NoError(t, err)
	huge := core.Known(^uint64(0) - 10)
	require.False(t, r.Splits(5, 50, huge))
	require.False(t, r.Splits(20, 50, huge))
}
