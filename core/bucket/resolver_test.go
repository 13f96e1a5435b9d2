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

// bounds makes a bucket; -1 is no bound.
func bounds(t testing.TB, id string, rank uint32, least, most, context int) *bucket.Bucket {
	limit := func(n int) *core.Tokens {
		if n < 0 {
			return nil
		}
		return new(core.Tokens(n))
	}
	return mustNew(t, bucket.Spec{
		ID: id, Rank: rank, Min: limit(least), Max: limit(most), MaxContext: limit(context),
		Groups: bucket.Plain(group(&scripted{})),
	})
}

func ids(buckets []*bucket.Bucket) []string {
	list := []string{}
	for _, b := range buckets {
		list = append(list, b.ID())
	}
	return list
}

func resolver(t testing.TB, buckets ...*bucket.Bucket) *bucket.Resolver {
	r, err := bucket.NewResolver(buckets, bucket.Preferences{})
	require.NoError(t, err)
	return r
}

func TestResolver_resolve(t *testing.T) {
	r := resolver(t,
		bounds(t, "open", 0, -1, -1, -1),
		bounds(t, "long", 20, 0, 131072, 131072),
		bounds(t, "middle", 0, 1000, 8192, -1),
		bounds(t, "short", 10, 0, 4096, 8192),
	)
	unknown := core.Count{}
	tests := []struct {
		name  string
		input core.Tokens
		peak  core.Count
		want  []string
	}{
		{"smallest capacity first, unbounded last", 2000, unknown, []string{"short", "middle", "long", "open"}},
		{"min is inclusive", 1000, unknown, []string{"short", "middle", "long", "open"}},
		{"below min", 999, unknown, []string{"short", "long", "open"}},
		{"max is inclusive", 4096, unknown, []string{"short", "middle", "long", "open"}},
		{"above max", 4097, unknown, []string{"middle", "long", "open"}},
		{"zero input", 0, unknown, []string{"short", "long", "open"}},
		{"peak at the context capacity fits", 4000, core.Known(8192), []string{"short", "middle", "long", "open"}},
		{"peak above the context capacity does not", 4000, core.Known(8193), []string{"middle", "long", "open"}},
		{"peak of the design's example", 4000, core.Known(20000), []string{"middle", "long", "open"}},
		{"peak does not count against max", 4000, core.Known(131072), []string{"middle", "long", "open"}},
		{"peak equal to the input", 4096, core.Known(4096), []string{"short", "middle", "long", "open"}},
		{"largest numbers", math.MaxUint64, core.Known(math.MaxUint64), []string{"open"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Resolve(tt.input, tt.peak, bucket.Targets{})
			require.NoError(t, err)
			require.Equal(t, tt.want, ids(got))
		})
	}
}

func TestResolver_peak_below_input_is_an_invalid_signal(t *testing.T) {
	_, err := resolver(t, bounds(t, "a", 0, -1, -1, -1)).Resolve(10, core.Known(9), bucket.Targets{})
	var invalid *core.InvalidSignalError
	require.ErrorAs(t, err, &invalid)
	require.False(t, core.Advance(err))
	require.EqualError(t, err, "invalid signal: peak of 9 tokens is below the input of 10")
}

func TestResolver_equal_capacities_go_by_rank_then_ID(t *testing.T) {
	r := resolver(t,
		bounds(t, "b", 1, -1, 100, -1), bounds(t, "a", 2, -1, -1, 100),
		bounds(t, "c", 1, -1, 200, 100), bounds(t, "d", 0, -1, 100, 300),
	)
	got, err := r.Resolve(1, core.Count{}, bucket.Targets{})
	require.NoError(t, err)
	require.Equal(t, []string{"d", "b", "c", "a"}, ids(got))
	require.Equal(t, []string{"d", "b", "c", "a"}, ids(r.Buckets()))
}

func TestNewResolver_lists_every_problem(t *testing.T) {
	_, err := bucket.NewResolver(nil, bucket.Preferences{})
	require.EqualError(t, err, "invalid configuration: no buckets")

	a, b := bounds(t, "a", 0, -1, -1, -1), bounds(t, "b", 0, -1, -1, -1)
	_, err = bucket.NewResolver([]*bucket.Bucket{a, b, nil, a, bounds(t, "b", 1, -1, 5, -1), b}, bucket.Preferences{})
	require.ErrorIs(t, err, core.ErrInvalid)
	require.EqualError(t, err, `invalid configuration: bucket 2 is missing
invalid configuration: bucket id "a" is not unique
invalid configuration: bucket id "b" is not unique`)
}

// A suspended request keeps its own list while others resolve.
func TestResolver_append_resolved_is_the_callers(t *testing.T) {
	r := resolver(t, bounds(t, "short", 0, -1, 10, -1), bounds(t, "long", 0, -1, 20, -1))
	mine, err := r.AppendResolved(make([]*bucket.Bucket, 0, 2), 5, core.Count{}, bucket.Targets{})
	require.NoError(t, err)
	_, err = r.Resolve(15, core.Count{}, bucket.Targets{})
	require.NoError(t, err)
	require.Equal(t, []string{"short", "long"}, ids(mine))
}

func TestResolver_does_not_allocate(t *testing.T) {
	r := resolver(t, bounds(t, "short", 0, -1, 10, -1), bounds(t, "long", 0, -1, 20, -1))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := r.Resolve(5, core.Known(9), bucket.Targets{}); err != nil {
			t.Error(err)
		}
	}))
}

// Filter, then sort, for each request, in the words of engine-selection.md 2.2.
func naiveResolve(specs []bucket.Spec, input core.Tokens, peak core.Count) []string {
	need := input
	if peak.Known {
		need = peak.N
	}
	capacity := func(s bucket.Spec) core.Tokens {
		most := core.Tokens(math.MaxUint64)
		for _, limit := range []*core.Tokens{s.Max, s.MaxContext} {
			if limit != nil {
				most = min(most, *limit)
			}
		}
		return most
	}
	var kept []bucket.Spec
	for _, s := range specs {
		tooShort := s.Min != nil && input < *s.Min
		tooLong := s.Max != nil && input > *s.Max
		overflows := s.MaxContext != nil && need > *s.MaxContext
		if !tooShort && !tooLong && !overflows {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b bucket.Spec) int {
		return cmp.Or(cmp.Compare(capacity(a), capacity(b)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
	})
	list := []string{}
	for _, s := range kept {
		list = append(list, s.ID)
	}
	return list
}

func TestResolver_agrees_with_the_naive_oracle(t *testing.T) {
	limit := rapid.Ptr(rapid.Uint64Range(1, 8), true)
	rapid.Check(t, func(rt *rapid.T) {
		var specs []bucket.Spec
		var buckets []*bucket.Bucket
		for i := range rapid.IntRange(1, 8).Draw(rt, "buckets") {
			s := bucket.Spec{
				ID: fmt.Sprint("id-", (i*5)%8), Rank: rapid.Uint32Range(0, 2).Draw(rt, "rank"),
				Min: limit.Draw(rt, "min"), Max: limit.Draw(rt, "max"), MaxContext: limit.Draw(rt, "context"),
				Groups: bucket.Plain(group(&scripted{})),
			}
			if b, err := bucket.New(s); err == nil {
				specs, buckets = append(specs, s), append(buckets, b)
			}
		}
		if len(buckets) == 0 {
			return
		}
		r := resolver(t, rapid.Permutation(buckets).Draw(rt, "order")...)
		for range 5 {
			input := rapid.Uint64Range(0, 10).Draw(rt, "input")
			peak := core.Count{}
			if rapid.Bool().Draw(rt, "peak known") {
				peak = core.Known(input + rapid.Uint64Range(0, 5).Draw(rt, "output"))
			}
			got, err := r.Resolve(input, peak, bucket.Targets{})
			require.NoError(rt, err)
			require.Equal(rt, naiveResolve(specs, input, peak), ids(got))
		}
	})
}
