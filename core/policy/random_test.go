package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
)

// spread is the chi-square distance of counts from an even split.
func spread[K comparable](counts map[K]int, cells, total int) float64 {
	even := float64(total) / float64(cells)
	distance := float64(cells-len(counts)) * even
	for _, n := range counts {
		distance += (float64(n) - even) * (float64(n) - even) / even
	}
	return distance
}

func TestRandom_is_uniform(t *testing.T) {
	engines := coretest.Workers(10)
	p := random(t, admission.Limits{}, &coretest.Loads{})
	req := coretest.PickRequest(42, core.StagePlain)
	counts := map[core.WorkerID]int{}
	for range 20_000 {
		counts[take(t, p, engines, req).ID]++
	}
	require.Less(t, spread(counts, 10, 20_000), 40.0, "chi-square of 9 degrees of freedom: %v", counts)
}

func TestRandom_chooses_uniformly_among_the_admitted(t *testing.T) {
	engines := coretest.Workers(10)
	loads := &coretest.Loads{}
	for _, w := range engines[:6] {
		loads.SetInflight(w, 1)
	}
	p := random(t, capInflight(1), loads)
	req := coretest.PickRequest(42, core.StagePlain)
	counts := map[core.WorkerID]int{}
	for range 20_000 {
		counts[take(t, p, engines, req).ID]++
	}
	require.Len(t, counts, 4)
	require.Less(t, spread(counts, 4, 20_000), 25.0, "chi-square of 3 degrees of freedom: %v", counts)
}

func TestRandom_exhaustion_rejects_each_engine_once(t *testing.T) {
	engines := coretest.Workers(20)
	loads := &coretest.Loads{}
	for _, w := range engines {
		loads.SetInflight(w, 1)
	}
	_, err := random(t, capInflight(1), loads).Pick(engines, coretest.PickRequest(1, core.StagePlain))
	var exhausted *core.NoAdmissibleError
	require.ErrorAs(t, err, &exhausted)
	seen := map[core.WorkerID]bool{}
	for _, r := range exhausted.Rejections {
		seen[r.Worker] = true
	}
	require.Len(t, exhausted.Rejections, 20)
	require.Len(t, seen, 20)
}
