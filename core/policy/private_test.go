package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// private makes the first blocks of the query belong to many prompts.
func (k *kitchen) private(shared uint64) *kitchen {
	k.caching.Source, k.caching.Private = policy.SourceHistory, true
	k.prefixes.Answer.Shared = shared
	return k
}

// Only what lies beyond the shared part counts towards the minimum.
func TestPrivate_counts_beyond_the_shared_part(t *testing.T) {
	for _, tt := range []struct {
		shared, depth uint64
		reason        core.Reason
	}{
		{0, 11, core.ReasonCacheCandidate},
		{0, 10, core.ReasonNoCacheCandidate},
		{50, 61, core.ReasonCacheCandidate},
		{50, 60, core.ReasonSharedPrefix},
		{50, 40, core.ReasonSharedPrefix},
		{50, 10, core.ReasonNoCacheCandidate},
		{100, 100, core.ReasonSharedPrefix},
	} {
		k := newKitchen(t, 1).hold(tt.depth).private(tt.shared)
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, tt.reason, pick.Reason, "%+v", tt)
		require.Equal(t, core.Known(tt.depth*100), pick.Matched, "all that it holds")
	}
}

// The owner's rules see no shared part.
func TestPrivate_is_off_for_other_sources(t *testing.T) {
	k := newKitchen(t, 2).hold(60)
	k.prefixes.Answer.Shared = 50
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

// With the index it is an option, and goes by what that says is shared.
func TestPrivate_by_the_index(t *testing.T) {
	for held, reason := range map[uint64]core.Reason{60: core.ReasonCacheCandidate, 50: core.ReasonSharedPrefix} {
		k := newKitchen(t, 2).hold(held)
		k.caching.Private = true
		k.prefixes.Answer.Shared = 40
		k.wants(0, reason, core.CacheHit)
	}
}

// A conversation stays with its engine whoever holds the shared part.
func TestPrivate_conversation_stays(t *testing.T) {
	k := newKitchen(t, 4).hold(50, 50, 80, 50).private(50)
	k.loads.SetInflight(k.engines[2], 40)
	k.wants(2, core.ReasonCacheCandidate, core.CacheHit)
}

// The shared part draws a request to its holders while they have no more to do
// than the mean and one.
func TestPrivate_shared_part_attracts(t *testing.T) {
	k := newKitchen(t, 8).hold(50).private(50)
	k.wants(0, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[0], 1)
	k.wants(0, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[0], 2)
	pick, err := k.pick()
	require.NoError(t, err)
	require.Equal(t, core.ReasonNoCacheCandidate, pick.Reason)
	for _, w := range k.engines[1:] {
		k.loads.SetInflight(w, 2)
	}
	k.loads.SetInflight(k.engines[0], 3)
	pick, err = k.pick()
	require.NoError(t, err)
	require.Equal(t, core.ReasonSharedPrefix, pick.Reason)
}

// Of the engines that hold the shared part, those that hold much less of it are
// passed over.
func TestPrivate_deeper_shared_part_first(t *testing.T) {
	k := newKitchen(t, 4).hold(15, 60, 62, 30).private(70)
	for range 10 {
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, core.ReasonSharedPrefix, pick.Reason)
		require.GreaterOrEqual(t, pick.Matched.N, uint64(6000))
	}
}

// Engines about as busy are told apart by what they were sent lately, others by
// what they have in flight, and all by complete reports where there are any.
func TestPrivate_what_was_sent_decides_between_equals(t *testing.T) {
	k := newKitchen(t, 2).hold(50, 50).private(50)
	k.prefixes.Send("w0000", 9)
	k.wants(1, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[1], 1)
	k.wants(1, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[1], 2)
	k.wants(0, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[0], 8)
	k.loads.SetInflight(k.engines[1], 10)
	k.wants(1, core.ReasonSharedPrefix, core.CacheHit)
	k.loads.SetInflight(k.engines[0], 1)
	k.loads.SetInflight(k.engines[1], 0)
	k.pressed(0, 5000)
	k.wants(0, core.ReasonSharedPrefix, core.CacheHit)
}

// So are engines that hold nothing.
func TestPrivate_miss(t *testing.T) {
	k := newKitchen(t, 2).private(0)
	k.prefixes.Answer = policy.Lookup{Outcome: policy.LookupMiss}
	k.prefixes.Send("w0000", 9)
	k.wants(1, core.ReasonNoCacheCandidate, core.CacheMiss)
	k.prefixes.Send("w0001", 10)
	k.wants(0, core.ReasonNoCacheCandidate, core.CacheMiss)
}

// A burst with one shared prompt spreads over all engines.
func TestPrivate_hot_prompt_spreads(t *testing.T) {
	k := newKitchen(t, 8).hold(50).private(50)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	for seed := range uint64(64) {
		k.req.Rand = coretest.Request(seed).Rand
		w := take(t, p, k.engines, k.req)
		k.loads.Charge(w)
		k.prefixes.Hold(w.Address, 50)
		k.prefixes.Send(w.Address, 1)
	}
	for _, w := range k.engines {
		require.InDelta(t, 8, k.loads.Inflight(w), 2, "%s", w.ID)
	}
}

func TestPrivate_admission(t *testing.T) {
	k := newKitchen(t, 1).hold(50).private(50)
	k.limits = capInflight(1)
	k.loads.SetInflight(k.engines[0], 1)
	_, err := k.pick()
	require.ErrorIs(t, err, core.ErrRejected)
}

func TestPrivate_costs_no_allocation(t *testing.T) {
	engines, loads, prefixes, req := crowd(t, 1000, 1)
	prefixes.Answer.Shared = 100
	k := newKitchen(t, 0)
	k.caching.Private = true
	p := cacheAware(t, k.caching, capInflight(8), loads, quiet{prefixes})
	for range 5 {
		_, _ = p.Pick(engines, req)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Pick(engines, req) }))
}

// Without private matching pressure decides as in power_of_two, and between equals
// what was sent.
func TestCacheAware_miss_ties(t *testing.T) {
	k := newKitchen(t, 3)
	k.prefixes.Send("w0000", 9)
	k.prefixes.Send("w0001", 8)
	k.prefixes.Send("w0002", 9)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	counts := make([]int, 3)
	for seed := range uint64(3000) {
		k.req.Rand = coretest.Request(seed).Rand
		counts[take(t, p, k.engines, k.req).Slot]++
	}
	require.InDelta(t, 2000, counts[1], 150, "in every sample that it is in")
	k.loads.SetInflight(k.engines[1], 1)
	for seed := range uint64(100) {
		k.req.Rand = coretest.Request(seed).Rand
		require.NotEqual(t, 1, take(t, p, k.engines, k.req).Slot, "the least difference in flight goes before")
	}
}
