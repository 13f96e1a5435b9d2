package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/pressure"
)

// What metrics count of a pick (engine-selection.md 15): whether the guard compared
// engines, and whether it decided.
func TestCacheAware_tells_what_the_guard_did(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 80)
	k.caching.SwitchMargin = 1000
	k.caching.Guard = &pressure.Guard{AbsTokens: 100, Rel: 2}
	guard := func(want core.GuardVerdict) {
		t.Helper()
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, want.String(), pick.Guard.String())
		require.Zero(t, pick.Diverted)
	}
	guard(core.GuardUnasked) // without reports
	k.pressed(101, 0)
	guard(core.GuardSwitched)
	k.pressed(100, 0)
	guard(core.GuardKept)
	k.pressed(0, 101)
	guard(core.GuardKept)
	k.caching.SwitchMargin = 999
	guard(core.GuardUnasked) // too far apart
	k.caching.SwitchMargin, k.caching.Guard = 1000, nil
	guard(core.GuardUnasked)
}

// A verdict is of one pick, and does not stay with the policy.
func TestCacheAware_forgets_what_the_guard_did(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 80).pressed(5000, 0)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	pick, err := p.Pick(k.engines, k.req)
	require.NoError(t, err)
	require.Equal(t, core.GuardSwitched, pick.Guard)
	pick, err = p.Pick(k.engines[:1], k.req)
	require.NoError(t, err)
	require.Equal(t, core.GuardUnasked, pick.Guard)
}

// What the best of the engines holds that a queue kept the request from is counted
// where it went to an engine without one, and nowhere else.
func TestCacheAware_tells_what_was_passed_over(t *testing.T) {
	k := newKitchen(t, 3).hold(80, 90)
	k.caching.WorkerQueueLimit = 5
	for _, tt := range []struct {
		waiting  []int
		decision core.CacheDecision
		diverted uint64
	}{
		{[]int{5, 5, 0}, core.CacheWorkerQueued, 9000},
		{[]int{5, 0, 0}, core.CacheHit, 0},
		{[]int{5, 5, 5}, core.CacheAllQueued, 0},
	} {
		pick, err := k.waiting(tt.waiting...).pick()
		require.NoError(t, err)
		require.Equal(t, tt.decision.String(), pick.Cache.String())
		require.Equal(t, tt.diverted, pick.Diverted)
	}
	k.prefixes.Answer.Outcome = 0 // a miss
	pick, err := k.waiting(5, 5, 0).pick()
	require.NoError(t, err)
	require.Zero(t, pick.Diverted)
}
