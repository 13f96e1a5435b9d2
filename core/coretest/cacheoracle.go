package coretest

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/policy"
)

// CacheCase is one cache-aware pick of a request whose lookup was a hit.
type CacheCase struct {
	Engines []CacheEngine
	Input   uint64 // tokens of the prompt
	Blocks  uint64 // blocks of the query
	Caching policy.Caching
	Limits  admission.Limits
}

// CacheEngine is what is known of one engine.
type CacheEngine struct {
	ID       core.WorkerID
	Depth    uint64
	Report   *core.LoadReport
	Inflight uint64
}

// CacheVerdict is what the pick must come to: a winner, or rejections, or the
// pool of a miss.
type CacheVerdict struct {
	Winner   core.WorkerID
	Reason   core.Reason
	Decision core.CacheDecision
	Rejected []core.WorkerID
	Pool     []core.WorkerID
	Least    []core.WorkerID // those of the pool under the least pressure
}

// CacheOracle reads engine-selection.md 9.4 to 9.6 literally: whole lists, stable
// sorts, exact numbers. Guard thresholds are compared in float64, as there.
func CacheOracle(c CacheCase) CacheVerdict {
	hits := c.keep(c.isHit)
	slices.SortStableFunc(hits, c.rankOrder(hits))
	n := float64(len(c.Engines))
	limit := min(n, float64(c.Caching.CandidateMaxWorkers), max(float64(c.Caching.CandidateMinWorkers), math.Ceil(c.Caching.CandidateRatio*n)))
	bounded := hits[:min(len(hits), int(limit))]

	open, gated := pick(bounded, c.gate), pick(bounded, func(e CacheEngine) bool { return !c.gate(e) })
	ungated := c.keep(c.gate)
	saturated := len(open) == 0 && len(gated) > 0 && len(ungated) == 0 && c.Caching.SaturationQueueFloor == 0
	reason, decision := core.ReasonCacheCandidate, core.CacheHit
	if saturated {
		open, reason, decision = gated, core.ReasonSaturationPin, core.CacheAllQueued
	}
	admitted := pick(open, c.admits)
	rejected := pick(open, func(e CacheEngine) bool { return !c.admits(e) })
	if len(admitted) > 0 {
		return CacheVerdict{Winner: c.fold(open, admitted).ID, Reason: reason, Decision: decision}
	}
	below := c.keep(func(e CacheEngine) bool {
		return e.Report != nil && e.Report.Waiting.Known && e.Report.Waiting.N < c.Caching.SaturationQueueFloor
	})
	if c.Caching.SaturationQueueFloor > 0 && len(below) == 0 {
		pinned := pick(gated, c.admits)
		rejected = append(rejected, pick(gated, func(e CacheEngine) bool { return !c.admits(e) })...)
		less := setOrder(gated)
		slices.SortFunc(pinned, func(a, b CacheEngine) int { return cmp.Or(less(a, b), cmp.Compare(a.ID, b.ID)) })
		if len(pinned) > 0 {
			return CacheVerdict{Winner: pinned[0].ID, Reason: core.ReasonSaturationPin, Decision: core.CacheAllQueued}
		}
	}
	if len(rejected) > 0 {
		return CacheVerdict{Rejected: ids(rejected)}
	}
	return c.missed(ungated, gated)
}

func (c CacheCase) missed(ungated, gated []CacheEngine) CacheVerdict {
	v := CacheVerdict{Reason: core.ReasonNoCacheCandidate, Decision: core.CacheMiss}
	pool := ungated
	if len(pool) == 0 {
		pool = c.Engines
	}
	if len(gated) > 0 {
		v.Decision = core.CacheWorkerQueued
		if len(ungated) == 0 {
			v.Decision = core.CacheAllQueued
		}
	}
	v.Pool = ids(pool)
	less := setOrder(pool)
	v.Least = ids(pick(pool, func(e CacheEngine) bool {
		return !slices.ContainsFunc(pool, func(o CacheEngine) bool { return less(o, e) < 0 })
	}))
	return v
}

// Matched is floor(L * min(depth, blocks) / blocks).
func (c CacheCase) Matched(e CacheEngine) uint64 {
	product := new(big.Int).Mul(number(c.Input), number(min(e.Depth, c.Blocks)))
	return product.Div(product, number(c.Blocks)).Uint64()
}

func number(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func (c CacheCase) isHit(e CacheEngine) bool {
	matched := c.Matched(e)
	return min(e.Depth, c.Blocks) > 0 && matched >= c.Caching.MinMatchedTokens &&
		float64(matched)/float64(max(c.Input, 1)) >= c.Caching.MinMatchRatio
}

func (c CacheCase) gate(e CacheEngine) bool {
	if c.Caching.WorkerQueueLimit == 0 || e.Report == nil || !e.Report.Waiting.Known {
		return true
	}
	return e.Report.Waiting.N < c.Caching.WorkerQueueLimit
}

func (c CacheCase) admits(e CacheEngine) bool {
	_, ok := c.Limits.Check(e.ID, core.NewMetrics(e.Report, e.Inflight))
	return ok
}

// rankOrder is: less uncached, then lower pressure in the view of a set, then ID.
func (c CacheCase) rankOrder(set []CacheEngine) func(a, b CacheEngine) int {
	less := setOrder(set)
	return func(a, b CacheEngine) int {
		return cmp.Or(-cmp.Compare(c.Matched(a), c.Matched(b)), less(a, b), cmp.Compare(a.ID, b.ID))
	}
}

// fold goes through the admitted candidates from the one with the least to compute.
func (c CacheCase) fold(open, admitted []CacheEngine) CacheEngine {
	winner := admitted[0]
	ceiling := new(big.Int).Add(number(c.Input-c.Matched(winner)), number(c.Caching.SwitchMargin))
	complete := !slices.ContainsFunc(open, func(e CacheEngine) bool { return !complete(e.Report) })
	order := c.rankOrder(open)
	for _, e := range admitted[1:] {
		if number(c.Input-c.Matched(e)).Cmp(ceiling) > 0 {
			continue
		}
		apart := new(big.Int).Sub(number(c.Matched(winner)), number(c.Matched(e)))
		if c.Caching.Guard != nil && complete && apart.CmpAbs(number(c.Caching.SwitchMargin)) <= 0 {
			if c.morePressured(winner, e) {
				winner = e
				continue
			}
			if c.morePressured(e, winner) {
				continue
			}
		}
		if order(winner, e) > 0 {
			winner = e
		}
	}
	return winner
}

func (c CacheCase) morePressured(a, b CacheEngine) bool {
	g := c.Caching.Guard
	if g.AbsMillis != nil && a.Report.PrefillRate > 0 && b.Report.PrefillRate > 0 {
		x, y := queueTime(a.Report), queueTime(b.Report)
		return x-y > *g.AbsMillis && x > y*g.Rel
	}
	x, y := a.Report.WaitingUncached.N, b.Report.WaitingUncached.N
	return float64(x) > float64(y)+float64(g.AbsTokens) && float64(x) > float64(y)*g.Rel
}

// setOrder is the set view of engine-selection.md 6 for prefill: the fields that
// all of the set have.
func setOrder(set []CacheEngine) func(a, b CacheEngine) int {
	native := !slices.ContainsFunc(set, func(e CacheEngine) bool { return !complete(e.Report) })
	timed := native && !slices.ContainsFunc(set, func(e CacheEngine) bool { return e.Report.PrefillRate <= 0 })
	keys := func(e CacheEngine) (list []float64) {
		if timed {
			list = append(list, queueTime(e.Report))
		}
		if native {
			list = append(list, float64(e.Report.WaitingUncached.N), float64(e.Report.Waiting.N), float64(e.Report.Running.N))
		}
		return append(list, float64(e.Inflight))
	}
	return func(a, b CacheEngine) int { return slices.Compare(keys(a), keys(b)) }
}

func (c CacheCase) keep(want func(CacheEngine) bool) []CacheEngine { return pick(c.Engines, want) }

func pick(list []CacheEngine, want func(CacheEngine) bool) (kept []CacheEngine) {
	for _, e := range list {
		if want(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

func ids(list []CacheEngine) (names []core.WorkerID) {
	for _, e := range list {
		names = append(names, e.ID)
	}
	return names
}
