package policy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/pressure"
)

func TestCacheAware_queue_gate(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 80)
	k.caching.WorkerQueueLimit = 5
	k.waiting(4, 0, 0).wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.waiting(5, 4, 0).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.waiting(5, 5, 4).wants(2, core.ReasonNoCacheCandidate, core.CacheWorkerQueued)
	k.waiting(5, 5, -1).wants(2, core.ReasonNoCacheCandidate, core.CacheWorkerQueued)
	k.waiting(-1, 0, 0).wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.loads.SetReport(k.engines[0], &core.LoadReport{Running: core.Known(50)})
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.loads.SetReport(k.engines[0], &core.LoadReport{Waiting: core.Known(50)})
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.caching.WorkerQueueLimit = 0
	k.waiting(500, 0, 0).wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

func TestCacheAware_saturation_without_a_floor(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 80)
	k.caching.WorkerQueueLimit = 5
	k.waiting(9, 5, 5).wants(0, core.ReasonSaturationPin, core.CacheAllQueued)
	k.waiting(9, 5, -1).wants(2, core.ReasonNoCacheCandidate, core.CacheWorkerQueued) // unknown is not queued
	k.waiting(9, 5, 5)
	k.limits = admission.Limits{MaxWaitingRequests: new(uint64(9))}
	k.wants(1, core.ReasonSaturationPin, core.CacheAllQueued)
	k.limits = admission.Limits{MaxWaitingRequests: new(uint64(5))}
	_, err := k.pick()
	require.Len(t, core.Rejections(err), 2, "a pin is admitted like any pick, and turns not cold")
}

// Only the group's own engines say whether all are queued.
func TestCacheAware_gate_and_pin_stay_inside_the_group(t *testing.T) {
	k := newKitchen(t, 4).hold(90, 0, 0, 95)
	k.caching.WorkerQueueLimit = 5
	k.waiting(9, 9, 9, 0)
	k.engines = k.engines[:3]
	k.wants(0, core.ReasonSaturationPin, core.CacheAllQueued)
}

func TestCacheAware_saturation_floor(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 80)
	k.caching.WorkerQueueLimit, k.caching.SaturationQueueFloor = 5, 3
	k.loads.SetInflight(k.engines[0], 2)
	k.loads.SetInflight(k.engines[1], 1)
	k.waiting(9, 9, 4).wants(1, core.ReasonSaturationPin, core.CacheAllQueued) // 4 is not below 3: the least pressed holder
	k.waiting(9, 9, 3).wants(1, core.ReasonSaturationPin, core.CacheAllQueued)
	k.waiting(9, 9, 2).wants(2, core.ReasonNoCacheCandidate, core.CacheWorkerQueued)
	k.waiting(9, 9, -1).wants(1, core.ReasonSaturationPin, core.CacheAllQueued) // unknown does not count
	k.loads.SetInflight(k.engines[1], 2)
	k.wants(0, core.ReasonSaturationPin, core.CacheAllQueued)             // equals by ID
	k.hold(0, 95).wants(0, core.ReasonSaturationPin, core.CacheAllQueued) // whichever holds more
	k.loads.SetReport(k.engines[2], &core.LoadReport{Running: core.Known(1)})
	k.wants(0, core.ReasonSaturationPin, core.CacheAllQueued) // a report without a queue does not count either
	k.waiting(9, 4, 9).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.limits = capInflight(2)
	k.waiting(9, 9, 9)
	_, err := k.pick()
	require.Len(t, core.Rejections(err), 2)
	// The open holder is rejected, the queued one is pinned.
	k.loads.SetInflight(k.engines[0], 1)
	k.waiting(9, 4, 9).wants(0, core.ReasonSaturationPin, core.CacheAllQueued)
}

// pressed gives engines native reports of waiting uncached tokens.
func (k *kitchen) pressed(tokens ...uint64) *kitchen {
	for i, n := range tokens {
		k.native(i, func(r *core.LoadReport) { r.WaitingUncached = core.Known(n) })
	}
	return k
}

func TestCacheAware_guard_and_margin(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 80) // 1,000 and 2,000 tokens to compute
	k.caching.SwitchMargin = 1000
	k.caching.Guard = &pressure.Guard{AbsTokens: 100, Rel: 2}
	k.pressed(101, 0).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.pressed(100, 0).wants(0, core.ReasonCacheCandidate, core.CacheHit)   // not above the absolute threshold
	k.pressed(400, 200).wants(0, core.ReasonCacheCandidate, core.CacheHit) // not above the factor
	k.pressed(401, 200).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.caching.SwitchMargin = 999
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.caching.SwitchMargin = math.MaxUint64
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.caching.Guard = nil
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

func TestCacheAware_guard_by_time(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 80)
	k.caching.Guard = &pressure.Guard{AbsTokens: 0, AbsMillis: new(500.0), Rel: 1.5}
	timed := func(tokens uint64, rate float64) func(*core.LoadReport) {
		return func(r *core.LoadReport) { r.WaitingUncached, r.PrefillRate = core.Known(tokens), rate }
	}
	k.native(0, timed(1000, 1000)).native(1, timed(500, 1000)).wants(0, core.ReasonCacheCandidate, core.CacheHit) // 500 ms apart
	k.native(0, timed(1001, 1000)).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.native(1, timed(500, 0)).wants(1, core.ReasonCacheCandidate, core.CacheHit) // by tokens: 501 above 0
	k.native(0, timed(700, 1000)).wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

// One engine without complete telemetry switches the guard off, also a rejected one.
func TestCacheAware_guard_needs_complete_telemetry(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 85, 80)
	k.pressed(9000, 0, 0).wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.waiting(0)
	k.loads.SetReport(k.engines[2], basicReport(0, 0))
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.pressed(9000, 0)
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.loads.SetInflight(k.engines[2], 1)
	k.limits = capInflight(1)
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.prefixes.Drop()
	k.hold(90, 85)
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit) // it does not hold the prefix, so it does not count
}
