package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/pressure"
)

func cacheAware(t testing.TB, c policy.Caching, limits admission.Limits, loads policy.LoadView, prefixes policy.PrefixView) *policy.CacheAware {
	p, err := policy.NewCacheAware(c, limits, loads, prefixes)
	require.NoError(t, err)
	return p
}

// kitchen is a group of engines w0000, w0001, ... at addresses of the same text,
// a prompt of 10,000 tokens in 100 blocks, and a policy.
type kitchen struct {
	t        testing.TB
	engines  []*core.Worker
	loads    *coretest.Loads
	prefixes *coretest.Prefixes
	caching  policy.Caching
	limits   admission.Limits
	req      *core.PickRequest
}

func newKitchen(t testing.TB, n int) *kitchen {
	k := &kitchen{
		t: t, engines: coretest.Workers(n), loads: &coretest.Loads{}, prefixes: &coretest.Prefixes{},
		caching: policy.DefaultCaching(), req: coretest.PickRequest(1, core.StagePrefill),
	}
	for _, w := range k.engines {
		w.Address = string(w.ID)
	}
	k.req.Input = 10_000
	k.prefixes.Hit(100)
	return k
}

// hold makes the engines hold so many of the hundred blocks.
func (k *kitchen) hold(depths ...uint64) *kitchen {
	for i, depth := range depths {
		if depth > 0 {
			k.prefixes.Hold(k.engines[i].Address, depth)
		}
	}
	return k
}

// native reports an idle engine, changed by edit.
func (k *kitchen) native(i int, edit func(*core.LoadReport)) *kitchen {
	report := coretest.NativeReport()
	if edit != nil {
		edit(report)
	}
	k.loads.SetReport(k.engines[i], report)
	return k
}

// waiting gives the engines basic reports of so many waiting requests; -1 is no
// report.
func (k *kitchen) waiting(counts ...int) *kitchen {
	for i, n := range counts {
		if n >= 0 {
			k.loads.SetReport(k.engines[i], basicReport(0, uint64(n)))
		} else {
			k.loads.SetReport(k.engines[i], nil)
		}
	}
	return k
}

func (k *kitchen) pick() (core.Pick, error) {
	return cacheAware(k.t, k.caching, k.limits, k.loads, k.prefixes).Pick(k.engines, k.req)
}

// wants picks and compares: engine, reason and decision.
func (k *kitchen) wants(i int, reason core.Reason, decision core.CacheDecision) {
	k.t.Helper()
	pick, err := k.pick()
	require.NoError(k.t, err)
	require.Equal(k.t, []string{string(k.engines[i].ID), reason.String(), decision.String()},
		[]string{string(pick.Worker.ID), pick.Reason.String(), pick.Cache.String()})
	require.Same(k.t, k.engines[i], pick.Worker)
	require.False(k.t, pick.Bind)
}

func TestCacheAware_refuses_what_makes_no_sense(t *testing.T) {
	for text, change := range map[string]func(*policy.Caching){
		"no prefix source":                     func(c *policy.Caching) { c.Source = "" },
		"match ratio 1.1":                      func(c *policy.Caching) { c.MinMatchRatio = 1.1 },
		"match ratio NaN":                      func(c *policy.Caching) { c.MinMatchRatio = math.NaN() },
		"candidate ratio -0.1":                 func(c *policy.Caching) { c.CandidateRatio = -0.1 },
		"0 to 32 candidates":                   func(c *policy.Caching) { c.CandidateMinWorkers = 0 },
		"8 to 7 candidates":                    func(c *policy.Caching) { c.CandidateMaxWorkers = 7 },
		"saturation floor 3 above queue limit": func(c *policy.Caching) { c.SaturationQueueFloor, c.WorkerQueueLimit = 3, 2 },
		"saturation floor 1 above queue limit": func(c *policy.Caching) { c.SaturationQueueFloor = 1 },
		"0 load choices":                       func(c *policy.Caching) { c.MinLoadChoices = 0 },
		"guard factor 1;":                      func(c *policy.Caching) { c.Guard.Rel = 1 },
		"guard factor +Inf":                    func(c *policy.Caching) { c.Guard.Rel = math.Inf(1) },
		"guard threshold -1 ms":                func(c *policy.Caching) { c.Guard.AbsMillis = new(-1.0) },
		"guard threshold NaN ms":               func(c *policy.Caching) { c.Guard.AbsMillis = new(math.NaN()) },
	} {
		c := policy.DefaultCaching()
		change(&c)
		_, err := policy.NewCacheAware(c, admission.Limits{}, &coretest.Loads{}, &coretest.Prefixes{})
		require.ErrorIs(t, err, core.ErrInvalid)
		require.ErrorContains(t, err, "cache_aware: "+text)
	}
	none := policy.DefaultCaching()
	none.Guard = nil
	_, err := policy.NewCacheAware(none, admission.Limits{}, &coretest.Loads{}, nil)
	require.ErrorContains(t, err, "cache_aware needs a view of prefixes")
	_, err = policy.NewCacheAware(none, admission.Limits{}, nil, &coretest.Prefixes{})
	require.ErrorContains(t, err, "cache_aware needs a load view")
}

func TestCacheAware_refuses_decode(t *testing.T) {
	k := newKitchen(t, 2).hold(50)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	require.ErrorIs(t, p.Supports(core.StageDecode), core.ErrInvalid)
	require.ErrorIs(t, p.Supports(core.StageNone), core.ErrInvalid)
	require.NoError(t, p.Supports(core.StagePlain))
	require.NoError(t, p.Supports(core.StagePrefill))
	k.req.Stage = core.StageDecode
	_, err := k.pick()
	require.ErrorIs(t, err, core.ErrInvalid)
	require.Empty(t, k.prefixes.Lookups(), "nothing is looked up")
}

func TestCacheAware_empty_group_asks_nothing(t *testing.T) {
	prefixes := &coretest.Prefixes{}
	_, err := cacheAware(t, policy.DefaultCaching(), capInflight(1), &forbidden{t}, prefixes).Pick(nil, coretest.PickRequest(1, core.StagePlain))
	require.Equal(t, &core.NoCandidatesError{Bucket: "b", Stage: core.StagePlain}, err)
	require.Empty(t, prefixes.Lookups())
}

func TestCacheAware_thresholds(t *testing.T) {
	for _, tt := range []struct {
		tokens uint64
		ratio  float64
		depth  uint64
		hit    bool
	}{
		{1024, 0, 10, false}, // 1,000 tokens
		{1000, 0, 10, true},  // at the threshold
		{1001, 0, 10, false},
		{0, 0, 1, true},
		{0, 0, 0, false}, // no block is no hit, whatever the thresholds
		{0, 0.5, 49, false},
		{0, 0.5, 50, true},
		{0, 1, 99, false},
		{0, 1, 100, true},
		{0, 1, 1000, true}, // more blocks than asked about count as all
	} {
		k := newKitchen(t, 1).hold(tt.depth)
		k.caching.MinMatchedTokens, k.caching.MinMatchRatio = tt.tokens, tt.ratio
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, tt.hit, pick.Reason == core.ReasonCacheCandidate, "%+v", tt)
		require.Equal(t, core.Known(min(tt.depth, 100)*100), pick.Matched, "also of a miss: %+v", tt)
	}
}

// The query's blocks are what a depth is a share of, rounded down, in numbers of
// any size.
func TestCacheAware_matched_tokens(t *testing.T) {
	for _, tt := range []struct{ input, depth, blocks, want uint64 }{
		{10, 1, 3, 3},
		{10, 2, 3, 6},
		{10, 3, 3, 10},
		{10, 4, 3, 10},
		{math.MaxUint64, 1, 1, math.MaxUint64},
		{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64},
		{math.MaxUint64, 1, 2, math.MaxUint64 / 2},
		{1 << 40, 1 << 39, 1 << 40, 1 << 39},
	} {
		k := newKitchen(t, 1).hold(tt.depth)
		k.prefixes.Hit(tt.blocks)
		k.req.Input, k.caching.MinMatchedTokens = tt.input, 1
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, core.Known(tt.want), pick.Matched, "%+v", tt)
	}
}

// Addresses match byte for byte; of several matches for one address the deepest counts.
func TestCacheAware_addresses(t *testing.T) {
	k := newKitchen(t, 2)
	k.caching.MinLoadChoices = 2
	k.loads.SetInflight(k.engines[0], 9)
	k.prefixes.Hold("w0000/", 90)
	k.prefixes.Hold("W0000", 90)
	k.wants(1, core.ReasonNoCacheCandidate, core.CacheMiss)
	k.prefixes.Hold("w0000", 20)
	k.prefixes.Hold("w0000", 10)
	k.prefixes.Hold("elsewhere", 90)
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	pick, err := k.pick()
	require.NoError(t, err)
	require.Equal(t, core.Known(2000), pick.Matched)
}

func TestCacheAware_lookup_outcomes(t *testing.T) {
	for _, tt := range []struct {
		answer  policy.Lookup
		reason  core.Reason
		matched core.Count
	}{
		{policy.Lookup{Outcome: policy.LookupMiss}, core.ReasonNoCacheCandidate, core.Known(0)},
		{policy.Lookup{Outcome: policy.LookupHit}, core.ReasonNoCacheCandidate, core.Known(0)}, // of no blocks
		{policy.Lookup{Outcome: policy.LookupUnavailable, Detail: "late"}, core.ReasonCacheUnavailable, core.Count{}},
	} {
		k := newKitchen(t, 3).hold(90)
		k.prefixes.Answer = tt.answer
		pick, err := k.pick()
		require.NoError(t, err)
		require.Equal(t, core.Pick{Worker: pick.Worker, Reason: tt.reason, Matched: tt.matched, Cache: core.CacheMiss}, pick)
		require.Equal(t, []string{"local"}, k.prefixes.Lookups(), "one lookup per pick, at the configured source")
	}
	k := newKitchen(t, 3)
	k.caching.Source = "remote"
	k.prefixes.Answer = policy.Lookup{Outcome: policy.LookupInvalid, Detail: "unknown block size"}
	_, err := k.pick()
	require.EqualError(t, err, "invalid signal: prefix source remote refused the lookup: unknown block size")
	require.False(t, core.Advance(err))
	require.Equal(t, []string{"remote"}, k.prefixes.Lookups())
}

// One memoized answer serves picks whose candidates and admission differ.
func TestCacheAware_admission_is_asked_again_for_a_known_answer(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 80)
	k.limits = capInflight(1)
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.loads.SetInflight(k.engines[0], 1)
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit)
	k.engines = k.engines[:1]
	_, err := k.pick()
	require.ErrorIs(t, err, core.ErrRejected)
}

func TestCacheAware_candidate_bounds(t *testing.T) {
	for _, tt := range []struct {
		n        int
		least    uint64
		ratio    float64
		most     uint64
		lookedAt int
	}{
		{4, 8, 0.05, 32, 4},
		{20, 8, 0.05, 32, 8},
		{161, 8, 0.05, 32, 9}, // ceil(8.05)
		{160, 8, 0.05, 32, 8},
		{1000, 8, 0.05, 32, 32},
		{20, 1, 0, 32, 1},
		{20, 3, 1, 5, 5},
		{20, 20, 0, 20, 20},
	} {
		k := newKitchen(t, tt.n)
		for i, w := range k.engines {
			k.prefixes.Hold(w.Address, uint64(100-i*50/tt.n))
			k.loads.SetInflight(w, 1)
		}
		k.caching.CandidateMinWorkers, k.caching.CandidateRatio, k.caching.CandidateMaxWorkers = tt.least, tt.ratio, tt.most
		k.limits = capInflight(1)
		_, err := k.pick()
		rejected := core.Rejections(err)
		require.Len(t, rejected, tt.lookedAt, "%+v", tt)
		for i, r := range rejected {
			require.Equal(t, k.engines[i].ID, r.Worker, "the best ones")
		}
		var exhausted *core.NoAdmissibleError
		require.ErrorAs(t, err, &exhausted)
	}
}

// The cap comes before admission: an admitted holder beyond it does not help, and
// a hard rejection never turns cold.
func TestCacheAware_cap_before_admission(t *testing.T) {
	k := newKitchen(t, 3).hold(90, 80)
	k.caching.CandidateMinWorkers, k.caching.CandidateMaxWorkers = 1, 1
	k.limits = capInflight(1)
	k.loads.SetInflight(k.engines[0], 1)
	_, err := k.pick()
	require.Equal(t, &core.NoAdmissibleError{Bucket: "b", Stage: core.StagePrefill, Rejections: []core.Rejection{
		{Worker: "w0000", Limit: "max_inflight_requests", Value: 1, Cap: 1},
	}}, err)
}

func TestCacheAware_rank_order(t *testing.T) {
	k := newKitchen(t, 4).hold(50, 60, 60, 60)
	k.loads.SetInflight(k.engines[1], 3)
	k.loads.SetInflight(k.engines[2], 2)
	k.loads.SetInflight(k.engines[3], 2)
	k.wants(2, core.ReasonCacheCandidate, core.CacheHit)
	for i := range 4 {
		k.native(i, func(r *core.LoadReport) { r.WaitingUncached = core.Known(uint64(40 - i)) })
	}
	k.wants(3, core.ReasonCacheCandidate, core.CacheHit)
	k.loads.SetReport(k.engines[3], basicReport(0, 0))
	k.wants(2, core.ReasonCacheCandidate, core.CacheHit)
}

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

// drawCase draws a pick, small numbers so that boundaries meet.
func drawCase(rt *rapid.T) coretest.CacheCase {
	small := func(name string, most uint64) uint64 { return rapid.Uint64Range(0, most).Draw(rt, name) }
	c := coretest.CacheCase{Input: rapid.SampledFrom([]uint64{0, 1, 7, 10, 100}).Draw(rt, "input"), Blocks: 1 + small("blocks", 9)}
	for i := range rapid.IntRange(1, 7).Draw(rt, "engines") {
		e := coretest.CacheEngine{ID: core.WorkerID(fmt.Sprintf("w%04d", i)), Depth: small("depth", 12), Inflight: small("inflight", 3)}
		switch rapid.IntRange(0, 5).Draw(rt, "report") {
		case 0:
		case 1:
			e.Report = &core.LoadReport{Running: core.Known(small("running", 3)), Waiting: core.Known(small("waiting", 4))}
		case 2:
			e.Report = &core.LoadReport{Running: core.Known(1)}
		default:
			e.Report = coretest.NativeReport()
			e.Report.Running, e.Report.Waiting = core.Known(small("running", 3)), core.Known(small("waiting", 4))
			e.Report.WaitingUncached = core.Known(small("uncached", 9))
			e.Report.PrefillRate = rapid.SampledFrom([]float64{0, 1000, 2000}).Draw(rt, "rate")
		}
		c.Engines = append(c.Engines, e)
	}
	c.Caching = policy.Caching{
		Source: "local", MinMatchedTokens: small("min tokens", 8), MinMatchRatio: rapid.SampledFrom([]float64{0, .2, .5, 1}).Draw(rt, "min ratio"),
		CandidateMaxWorkers: 1 + small("max", 5), CandidateRatio: rapid.SampledFrom([]float64{0, .5, 1}).Draw(rt, "ratio"),
		SwitchMargin:     rapid.SampledFrom([]uint64{0, 2, 20, math.MaxUint64}).Draw(rt, "margin"),
		WorkerQueueLimit: small("limit", 4), MinLoadChoices: 1 + int(small("choices", 8)),
	}
	c.Caching.CandidateMinWorkers = 1 + small("min", c.Caching.CandidateMaxWorkers-1)
	c.Caching.SaturationQueueFloor = small("floor", c.Caching.WorkerQueueLimit)
	if rapid.Bool().Draw(rt, "guard") {
		c.Caching.Guard = &pressure.Guard{AbsTokens: small("abs", 3), Rel: rapid.SampledFrom([]float64{1.2, 2}).Draw(rt, "rel")}
		if rapid.Bool().Draw(rt, "by time") {
			c.Caching.Guard.AbsMillis = new(rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(rt, "ms"))
		}
	}
	if rapid.Bool().Draw(rt, "capped") {
		c.Limits = admission.Limits{MaxInflightRequests: new(1 + small("cap", 3)), MaxWaitingRequests: new(1 + small("waiting cap", 4))}
	}
	return c
}

// serveCase runs a drawn pick, with the candidates in the order given.
func serveCase(t testing.TB, c coretest.CacheCase, order []int, seed uint64) (core.Pick, error) {
	k := newKitchen(t, len(c.Engines))
	for i, e := range c.Engines {
		k.prefixes.Hold(k.engines[i].Address, e.Depth)
		k.loads.SetReport(k.engines[i], e.Report)
		k.loads.SetInflight(k.engines[i], e.Inflight)
	}
	k.prefixes.Hit(c.Blocks)
	k.req.Input, k.caching, k.limits = c.Input, c.Caching, c.Limits
	k.req.Rand = rand.New(rand.NewPCG(seed, seed))
	shuffled := make([]*core.Worker, len(order))
	for i, at := range order {
		shuffled[i] = k.engines[at]
	}
	k.engines = shuffled
	return k.pick()
}

// engine-selection.md 9.4 to 9.6, read slowly. The order of the candidates does
// not matter but for the draw of a miss.
func TestCacheAware_follows_the_rules(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			seen[followsTheRules(t, rt)] = true
		}
	})
	for _, way := range []string{
		"rejected", "miss rejected", "cache_candidate cache_hit", "saturation_pin all_queued",
		"no_cache_candidate cache_miss", "no_cache_candidate cache_worker_queued",
	} {
		require.True(t, seen[way], "no case came to %s", way)
	}
}

// followsTheRules compares one drawn pick with the oracle and tells what it came to.
func followsTheRules(t *testing.T, rt *rapid.T) string {
	c := drawCase(rt)
	order := rapid.Permutation(slices.Collect(seq(len(c.Engines)))).Draw(rt, "order")
	pick, err := serveCase(t, c, order, rapid.Uint64().Draw(rt, "seed"))
	want := coretest.CacheOracle(c)
	switch {
	case len(want.Rejected) > 0:
		var exhausted *core.NoAdmissibleError
		require.ErrorAs(rt, err, &exhausted)
		var rejected []core.WorkerID
		for _, r := range exhausted.Rejections {
			rejected = append(rejected, r.Worker)
		}
		require.Equal(rt, want.Rejected, rejected)
		return "rejected"
	case want.Winner == "" && err != nil:
		var rejected *core.AdmissionError
		require.ErrorAs(rt, err, &rejected)
		require.Contains(rt, want.Pool, rejected.Worker)
		return "miss rejected"
	}
	require.NoError(rt, err)
	require.Equal(rt, want.Reason, pick.Reason)
	require.Equal(rt, want.Decision, pick.Cache)
	require.Equal(rt, core.Known(c.Matched(c.Engines[pick.Worker.Slot])), pick.Matched)
	switch {
	case want.Winner != "":
		require.Equal(rt, want.Winner, pick.Worker.ID)
	case c.Caching.MinLoadChoices >= len(want.Pool):
		require.Contains(rt, want.Least, pick.Worker.ID)
	default:
		require.Contains(rt, want.Pool, pick.Worker.ID)
	}
	return want.Reason.String() + " " + want.Decision.String()
}

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// I4: what is not known is never read as zero. The fields of a report that are
// unknown hold numbers that would decide, and change nothing.
func TestCacheAware_reads_no_unknown_field(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCase(rt)
		order := slices.Collect(seq(len(c.Engines)))
		seed := rapid.Uint64().Draw(rt, "seed")
		pick, err := serveCase(t, c, order, seed)
		for i := range c.Engines {
			r := c.Engines[i].Report
			if r == nil {
				continue
			}
			for _, f := range []*core.Count{&r.Running, &r.Waiting, &r.WaitingUncached, &r.KVUsed, &r.KVTotal, &r.KVCapacity, &r.RunningCapacity} {
				if !f.Known {
					f.N = rapid.Uint64Range(1, 100).Draw(rt, "noise")
				}
			}
		}
		again, errAgain := serveCase(t, c, order, seed)
		require.Equal(rt, err, errAgain)
		if err == nil {
			require.Equal(rt, pick.Worker.ID, again.Worker.ID)
			require.Equal(rt, pick.Reason, again.Reason)
		}
	})
}
