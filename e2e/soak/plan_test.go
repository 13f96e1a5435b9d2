package soak

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan_is_repeatable_and_keeps_its_rates(t *testing.T) {
	plan := Plan{Requests: 100_000, Large: 20, Seed: 7}
	asked := plan.Asked()
	require.Equal(t, asked, plan.Asked())
	other := plan
	other.Seed++
	require.NotEqual(t, asked, other.Asked())
	require.Equal(t, plan.Large, asked[Large])
	total := 0
	for k, n := range asked {
		total += n
		if share := kinds()[k].share; share > 0 {
			require.InEpsilon(t, plan.Requests*share/10_000, n, 0.3, "%s", Kind(k))
		}
	}
	require.Equal(t, plan.Requests, total)
}

// Harsh multiplies what goes wrong and leaves room for what goes well.
func TestPlan_harsh(t *testing.T) {
	plan := Plan{Requests: 100_000, Seed: 7, Harsh: MaxHarsh}
	asked := plan.Asked()
	for k := NotJSON; k < kindCount; k++ {
		require.InEpsilon(t, plan.Requests*MaxHarsh*kinds()[k].share/10_000, asked[k], 0.1, "%s", k)
	}
	require.InEpsilon(t, plan.Requests/10, asked[Stream], 0.1)
	require.Greater(t, asked[Whole], plan.Requests/100)
}

func TestPlan_spreads_large_bodies(t *testing.T) {
	plan := Plan{Requests: 1000, Large: 4}
	var at []int
	for i := range plan.Requests {
		if plan.Kind(i) == Large {
			at = append(at, i)
		}
	}
	require.Equal(t, []int{249, 499, 749, 999}, at)
}

func TestLargeBody_is_at_the_limit_and_JSON(t *testing.T) {
	c := newClient(Plan{Requests: 1}, "", 1)
	require.Len(t, c.large, LargeBytes)
	require.Equal(t, chatHead("soak", false)+"xx", string(c.large[:len(chatHead("soak", false))+2]))
	require.Equal(t, "x"+chatTail, string(c.large[LargeBytes-len(chatTail)-1:]))
}
