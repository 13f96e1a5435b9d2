package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/coretest"
)

func TestCacheAware_miss_pool(t *testing.T) {
	k := newKitchen(t, 4)
	k.caching.WorkerQueueLimit = 5
	k.caching.MinLoadChoices = 10
	k.loads.SetInflight(k.engines[3], 9)
	k.waiting(5, 6, 7, 4).wants(3, core.ReasonNoCacheCandidate, core.CacheMiss)
	k.loads.SetInflight(k.engines[0], 2)
	k.loads.SetInflight(k.engines[1], 1)
	k.loads.SetInflight(k.engines[2], 2)
	k.waiting(5, 6, 7, 5).wants(1, core.ReasonNoCacheCandidate, core.CacheMiss)
	k.limits = capInflight(1)
	_, err := k.pick()
	require.Equal(t, &core.AdmissionError{Bucket: "b", Stage: core.StagePrefill, Rejection: core.Rejection{
		Worker: "w0001", Limit: "max_inflight_requests", Value: 1, Cap: 1,
	}}, err)
}

func TestCacheAware_miss_choices(t *testing.T) {
	for _, tt := range []struct {
		choices int
		want    [4]float64 // share of each engine; 0 and 1 are tied for least
	}{
		{1, [4]float64{.25, .25, .25, .25}},
		{2, [4]float64{5. / 12, 5. / 12, 2. / 12, 0}},
		{3, [4]float64{.5, .5, 0, 0}},
		{4, [4]float64{.5, .5, 0, 0}},
		{9, [4]float64{.5, .5, 0, 0}},
	} {
		k := newKitchen(t, 4)
		k.caching.MinLoadChoices = tt.choices
		k.loads.SetInflight(k.engines[2], 1)
		k.loads.SetInflight(k.engines[3], 2)
		p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
		const n = 4000
		var counts [4]float64
		for seed := range uint64(n) {
			k.req.Rand = coretest.Request(seed).Rand
			counts[take(t, p, k.engines, k.req).Slot]++
		}
		for i, share := range tt.want {
			require.InDelta(t, share, counts[i]/n, .04, "choices %d, engine %d", tt.choices, i)
		}
	}
}

// Pairs of a mixed set need not be in order: w0001 is below w0002 by its report,
// w0000 below w0001 and w0002 below w0000 by requests in flight. The exact minimum
// goes by the set, so by requests in flight for all.
func TestCacheAware_exact_minimum_of_a_mixed_set(t *testing.T) {
	k := newKitchen(t, 3)
	k.pressed(0, 0, 9)
	k.loads.SetReport(k.engines[0], nil)
	for i, n := range []uint64{3, 5, 1} {
		k.loads.SetInflight(k.engines[i], n)
	}
	for seed := range uint64(50) {
		for _, k.caching.MinLoadChoices = range []int{3, 4} {
			k.req.Rand = coretest.Request(seed).Rand
			k.wants(2, core.ReasonNoCacheCandidate, core.CacheMiss)
		}
	}
}

// Equals of the exact minimum are drawn evenly.
func TestCacheAware_exact_minimum_is_even(t *testing.T) {
	k := newKitchen(t, 6)
	k.caching.MinLoadChoices = 6
	k.loads.SetInflight(k.engines[2], 1)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	counts := make([]int, 6)
	for seed := range uint64(5000) {
		k.req.Rand = coretest.Request(seed).Rand
		counts[take(t, p, k.engines, k.req).Slot]++
	}
	for i, n := range counts {
		if i == 2 {
			require.Zero(t, n)
		} else {
			require.InDelta(t, 1000, n, 150, "engine %d", i)
		}
	}
}

func TestCacheAware_without_a_random_source(t *testing.T) {
	k := newKitchen(t, 2).hold(90)
	k.req.Rand = nil
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.prefixes.Drop()
	_, err := k.pick()
	require.ErrorIs(t, err, core.ErrInvalid)
	k.engines = k.engines[:1]
	k.wants(0, core.ReasonNoCacheCandidate, core.CacheMiss)
}
