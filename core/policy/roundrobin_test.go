package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

func TestRoundRobin_rotates_from_its_start(t *testing.T) {
	engines := coretest.Workers(3)
	p, err := policy.NewRoundRobin(admission.Limits{}, &coretest.Loads{}, 5)
	require.NoError(t, err)
	for _, want := range []int{2, 0, 1, 2, 0} {
		require.Same(t, engines[want], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	}
}

func TestRoundRobin_start_may_be_any_number(t *testing.T) {
	engines := coretest.Workers(4)
	p, err := policy.NewRoundRobin(admission.Limits{}, &coretest.Loads{}, ^uint64(0))
	require.NoError(t, err)
	for _, want := range []int{3, 0, 1, 2} {
		require.Same(t, engines[want], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	}
}

func TestRoundRobin_moves_past_the_engine_it_picked(t *testing.T) {
	engines := coretest.Workers(4)
	loads := &coretest.Loads{}
	loads.SetInflight(engines[0], 1)
	loads.SetInflight(engines[1], 1)
	p := roundRobin(t, capInflight(1), loads)
	for _, want := range []int{2, 3, 2, 3} {
		require.Same(t, engines[want], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	}
}

func TestRoundRobin_exhaustion_lists_all_and_moves_once(t *testing.T) {
	engines := coretest.Workers(3)
	loads := &coretest.Loads{}
	for _, w := range engines {
		loads.SetInflight(w, 1)
	}
	p := roundRobin(t, capInflight(1), loads)
	_, err := p.Pick(engines, coretest.PickRequest(1, core.StagePrefill))
	var exhausted *core.NoAdmissibleError
	require.ErrorAs(t, err, &exhausted)
	require.Equal(t, "b", exhausted.Bucket)
	require.Equal(t, core.StagePrefill, exhausted.Stage)
	require.Len(t, exhausted.Rejections, 3)

	for _, w := range engines {
		loads.SetInflight(w, 0)
	}
	require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(1, core.StagePrefill)))
}

func TestRoundRobin_without_caps_observes_nothing(t *testing.T) {
	p := roundRobin(t, admission.Limits{}, &forbidden{t})
	take(t, p, coretest.Workers(3), coretest.PickRequest(1, core.StagePlain))
}

// The cursor against the naive rule: walk on from the last picked engine to the
// next one that is admitted.
func TestRoundRobin_agrees_with_the_naive_rule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engines := coretest.Workers(rapid.IntRange(1, 8).Draw(t, "n"))
		loads := &coretest.Loads{}
		p, err := policy.NewRoundRobin(capInflight(1), loads, 0)
		require.NoError(t, err)
		next := 0
		for range rapid.IntRange(1, 20).Draw(t, "picks") {
			want := -1
			full := rapid.SliceOfN(rapid.Bool(), len(engines), len(engines)).Draw(t, "full")
			for i := range engines {
				loads.SetInflight(engines[i], map[bool]uint64{true: 1}[full[i]])
				if at := (next + i) % len(engines); want < 0 && !full[at] {
					want = at
				}
			}
			pick, err := p.Pick(engines, coretest.PickRequest(1, core.StagePlain))
			if want < 0 {
				require.ErrorIs(t, err, core.ErrRejected)
				next = (next + 1) % len(engines)
				continue
			}
			require.NoError(t, err)
			require.Same(t, engines[want], pick.Worker)
			next = (want + 1) % len(engines)
		}
	})
}

// A spare choice is the next engine of the rotation and leaves the rotation
// where it is, so that requests stay even whatever the host retries.
func TestRoundRobin_a_spare_choice_does_not_rotate(t *testing.T) {
	engines := coretest.Workers(3)
	p := roundRobin(t, admission.Limits{}, &coretest.Loads{})
	require.Same(t, engines[0], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
	for range 3 {
		spare := coretest.PickRequest(1, core.StagePlain)
		spare.Spare = true
		require.Same(t, engines[1], take(t, p, engines, spare))
	}
	require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(1, core.StagePlain)))
}
