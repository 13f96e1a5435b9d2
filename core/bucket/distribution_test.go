package bucket_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// spreading makes each policy that spreads requests without a key.
func spreading() map[string]func(loads policy.LoadView) (bucket.Policy, error) {
	none := admission.Limits{}
	return map[string]func(loads policy.LoadView) (bucket.Policy, error){
		"round_robin":  func(loads policy.LoadView) (bucket.Policy, error) { return policy.NewRoundRobin(none, loads, 7) },
		"random":       func(loads policy.LoadView) (bucket.Policy, error) { return policy.NewRandom(none, loads) },
		"power_of_two": func(loads policy.LoadView) (bucket.Policy, error) { return policy.NewPowerOfTwo(2, none, loads) },
		"load_based":   func(loads policy.LoadView) (bucket.Policy, error) { return policy.NewLoadBased(none, loads, 7) },
	}
}

// perEngine is how many serial requests each engine of a pool should get.
const perEngine = 400

// deviations is how many standard deviations of a fair draw a count may be off. The
// seeds are fixed, so this is no matter of luck.
const deviations = 6

// Serial traffic finds every engine idle and without a report: nothing tells them
// apart, so each must get its share whatever the size of the pool.
func TestSerialTrafficSpreadsEvenlyOverAnyPool(t *testing.T) {
	for name, made := range spreading() {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 16, 31, 32} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				fleet := coretest.NewFleet(coretest.Workers(n)...)
				b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(spread(t, made, &coretest.Loads{}))})
				counts := map[core.WorkerID]int{}
				for seed := range uint64(n * perEngine) {
					counts[engine(t, b, fleet, coretest.Request(seed)).ID]++
				}
				even(t, counts, n, perEngine)
			})
		}
	}
}

// A pair makes two choices for each request. Were they to share a rotation or a
// random draw, pools of even size would use half of their engines, or the same
// pairs over and over.
func TestPairsHaveNoResonance(t *testing.T) {
	for name, made := range spreading() {
		for _, pool := range [][2]int{{2, 2}, {4, 4}, {4, 2}, {6, 3}, {8, 8}} {
			t.Run(fmt.Sprintf("%s/%dp%dd", name, pool[0], pool[1]), func(t *testing.T) {
				fleet, loads := coretest.NewFleet(), &coretest.Loads{}
				for i, stage := range []core.Stage{core.StagePrefill, core.StageDecode} {
					for n := range pool[i] {
						fleet.Add(coretest.Worker(core.WorkerID(fmt.Sprintf("%s%02d", stage, n)), stage))
					}
				}
				b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.PD(spread(t, made, loads), spread(t, made, loads))})
				prefills, decodes := map[core.WorkerID]int{}, map[core.WorkerID]int{}
				most := max(pool[0], pool[1])
				for seed := range uint64(most * perEngine) {
					picked, err := b.Pick(fleet, coretest.Request(seed))
					require.NoError(t, err)
					prefill, decode, _ := picked.Pair()
					prefills[prefill.Worker.ID]++
					decodes[decode.Worker.ID]++
				}
				even(t, prefills, pool[0], perEngine*most/pool[0])
				even(t, decodes, pool[1], perEngine*most/pool[1])
			})
		}
	}
}

func spread(t *testing.T, made func(policy.LoadView) (bucket.Policy, error), loads policy.LoadView) bucket.Group {
	t.Helper()
	p, err := made(loads)
	require.NoError(t, err)
	return group(p)
}

func even(t *testing.T, counts map[core.WorkerID]int, engines, share int) {
	t.Helper()
	require.Len(t, counts, engines, "every engine takes part")
	for id, n := range counts {
		require.InDelta(t, share, n, deviations*math.Sqrt(float64(share)), "requests of %s in %v", id, counts)
	}
}
