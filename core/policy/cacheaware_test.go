package policy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
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
