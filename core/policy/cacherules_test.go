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
