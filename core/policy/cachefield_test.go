package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/pressure"
)

// Tests of this file are named after the entry of field-reports.md whose Want
// they show for cache_aware.

// On a miss load decides, however small an engine's tree is.
func TestA01_miss_goes_by_load(t *testing.T) {
	k := newKitchen(t, 2)
	k.prefixes.Hold("w0000", 1) // the small tree
	for range 40 {
		k.loads.Charge(k.engines[0])
	}
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	for range 40 {
		w := take(t, p, k.engines, k.req)
		require.Same(t, k.engines[1], w)
		k.loads.Charge(w)
	}
}

// Engines that are no candidates take no part: an idle one that is unhealthy
// makes the others no more loaded.
func TestA06_engines_outside_the_candidates_do_not_count(t *testing.T) {
	k := newKitchen(t, 3).hold(0, 50, 90).pressed(5, 5, 0)
	k.engines = k.engines[:2]
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit)
}

// A longest prefix whose engine is too loaded gives way to the next one within
// the margin, not to an idle engine without it.
func TestA09_next_longest_prefix_within_the_bounds(t *testing.T) {
	k := newKitchen(t, 3).hold(0, 80, 90).pressed(0, 3000, 9000)
	k.caching.Guard = &pressure.Guard{AbsTokens: 4000, Rel: 1.5}
	k.wants(1, core.ReasonCacheCandidate, core.CacheHit)
}

// Prompts too short for a block spread by load.
func TestA22_prompts_without_a_block_are_even(t *testing.T) {
	k := newKitchen(t, 2)
	k.req.Input = 100
	k.prefixes.Hit(0)
	p := cacheAware(t, k.caching, k.limits, k.loads, k.prefixes)
	counts := map[core.WorkerID]int{}
	for seed := range uint64(200) {
		k.req.Rand = coretest.Request(seed).Rand
		w := take(t, p, k.engines, k.req)
		k.loads.Charge(w)
		counts[w.ID]++
	}
	require.Equal(t, map[core.WorkerID]int{"w0000": 100, "w0001": 100}, counts)
}

// A later round of a chat returns to the engine that holds the former ones.
func TestA25_chat_returns_to_its_engine(t *testing.T) {
	k := newKitchen(t, 2)
	first, err := k.pick()
	require.NoError(t, err)
	for round := range uint64(4) {
		k.prefixes.Hold(first.Worker.Address, 20+20*round)
		k.loads.Charge(first.Worker)
		k.wants(first.Worker.Slot, core.ReasonCacheCandidate, core.CacheHit)
	}
}

// A busy engine that holds little leaves the second session to the idle one.
func TestA54_small_hits_do_not_bind(t *testing.T) {
	k := newKitchen(t, 2).hold(10)
	k.loads.SetInflight(k.engines[0], 1)
	k.wants(1, core.ReasonNoCacheCandidate, core.CacheMiss)
}

// The guard looks at the engine that would be taken: a hot engine elsewhere
// changes nothing.
func TestA55_hot_engine_elsewhere_leaves_affinity_alone(t *testing.T) {
	k := newKitchen(t, 4).hold(0, 0, 90).pressed(60_000, 0, 0, 0)
	k.loads.SetInflight(k.engines[0], 60)
	k.wants(2, core.ReasonCacheCandidate, core.CacheHit)
}

// KV that is full of reusable cache is no load.
func TestA56_full_cache_is_not_load(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 90)
	k.native(0, func(r *core.LoadReport) { r.KVUsed, r.KVTotal = core.Known(900), core.Known(900) })
	k.native(1, func(r *core.LoadReport) { r.KVUsed, r.Running = core.Known(200), core.Known(30) })
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

// A hot prefix moves on when its holder has a queue, and not before.
func TestA59_queue_ends_a_hot_prefix(t *testing.T) {
	k := newKitchen(t, 2).hold(90)
	k.caching.WorkerQueueLimit = 20
	k.waiting(19, 0).wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.waiting(20, 0).wants(1, core.ReasonNoCacheCandidate, core.CacheWorkerQueued)
}

func TestA60_deepest_match_wins(t *testing.T) {
	newKitchen(t, 3).hold(20, 80, 40).wants(1, core.ReasonCacheCandidate, core.CacheHit)
}

// E05, E10: an engine without a report is unknown: not full, not idle.
func TestE05_no_report_is_unknown(t *testing.T) {
	k := newKitchen(t, 2).hold(90, 80)
	k.caching.WorkerQueueLimit = 1
	k.limits = admission.Limits{MaxWaitingRequests: new(uint64(1)), MaxKVTokens: new(uint64(1)), MaxRunningRequests: new(uint64(1))}
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
	k.waiting(-1, 9)
	k.wants(0, core.ReasonCacheCandidate, core.CacheHit)
}

// bySlot is a prefix view as the filter has it: depths in a flat table.
type bySlot struct {
	coretest.Prefixes
	depths []uint64
}

func (b *bySlot) Depth(_ string, w *core.Worker) uint64 { return b.depths[w.Slot] }

// crowd is a group of n engines with native reports. Every k-th of them holds a
// part of the prompt, 1 is all.
func crowd(b testing.TB, n, k int) (engines []*core.Worker, loads *coretest.Loads, prefixes *bySlot, req *core.PickRequest) {
	b.Helper()
	engines, loads, prefixes = coretest.Workers(n), &coretest.Loads{}, &bySlot{depths: make([]uint64, n)}
	for i, w := range engines {
		report := coretest.NativeReport()
		report.WaitingUncached, report.Waiting = core.Known(uint64(i*7919%5000)), core.Known(uint64(i%3))
		loads.SetReport(w, report)
		loads.SetInflight(w, uint64(i%8))
		if k > 0 && i%k == 0 {
			prefixes.depths[i] = uint64(50 + i*31%50)
		}
	}
	if prefixes.Hit(100); k == 0 {
		prefixes.Answer.Outcome = policy.LookupMiss
	}
	req = coretest.PickRequest(1, core.StagePrefill)
	req.Input = 10_000
	return engines, loads, prefixes, req
}

// A15: a pick over a thousand engines allocates nothing, whatever its way.
func TestA15_cache_aware_costs_no_allocation(t *testing.T) {
	for way, every := range map[string]int{"miss": 0, "some hold it": 50, "all hold it": 1} {
		for _, limit := range []uint64{0, 2, 1} {
			engines, loads, prefixes, req := crowd(t, 1000, every)
			k := newKitchen(t, 0)
			k.caching.WorkerQueueLimit = limit
			for _, choices := range []int{2, 1000} {
				k.caching.MinLoadChoices = choices
				p := cacheAware(t, k.caching, capInflight(8), loads, quiet{prefixes})
				for range 5 {
					_, _ = p.Pick(engines, req)
				}
				require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Pick(engines, req) }), "%s, limit %d", way, limit)
			}
		}
	}
}

func BenchmarkCacheAware(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		for _, way := range []struct {
			name  string
			every int
			limit uint64
		}{{"miss", 0, 0}, {"few", max(n/10, 1), 0}, {"all", 1, 0}, {"all-gated", 1, 2}} {
			b.Run(fmt.Sprintf("workers=%d/hold=%s", n, way.name), func(b *testing.B) {
				engines, loads, prefixes, req := crowd(b, n, way.every)
				k := newKitchen(b, 0)
				k.caching.WorkerQueueLimit = way.limit
				p := cacheAware(b, k.caching, capInflight(100), loads, quiet{prefixes})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Pick(engines, req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// quiet counts no lookups, which would allocate.
type quiet struct{ *bySlot }

func (q quiet) Lookup(string, uint64, *core.PickRequest) policy.Lookup { return q.Answer }
