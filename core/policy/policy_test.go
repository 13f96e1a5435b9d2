package policy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// picker is what the policies have in common.
type picker interface {
	Name() string
	Supports(core.Stage) error
	Pick([]*core.Worker, *core.PickRequest) (core.Pick, error)
}

func roundRobin(t testing.TB, limits admission.Limits, loads policy.LoadView) *policy.RoundRobin {
	p, err := policy.NewRoundRobin(limits, loads, 0)
	require.NoError(t, err)
	return p
}

func random(t testing.TB, limits admission.Limits, loads policy.LoadView) *policy.Random {
	p, err := policy.NewRandom(limits, loads)
	require.NoError(t, err)
	return p
}

func loadBased(t testing.TB, limits admission.Limits, loads policy.LoadView) *policy.LoadBased {
	p, err := policy.NewLoadBased(limits, loads, 0)
	require.NoError(t, err)
	return p
}

func powerOf(t testing.TB, choices int, limits admission.Limits, loads policy.LoadView) *policy.PowerOfTwo {
	p, err := policy.NewPowerOfTwo(choices, limits, loads)
	require.NoError(t, err)
	return p
}

// each gives one policy of every kind.
func each(t testing.TB, limits admission.Limits, loads policy.LoadView) []picker {
	return []picker{
		roundRobin(t, limits, loads), random(t, limits, loads), powerOf(t, policy.DefaultChoices, limits, loads),
		loadBased(t, limits, loads), consistentHash(t, hashing(), limits, loads),
	}
}

func capInflight(n uint64) admission.Limits {
	return admission.Limits{MaxInflightRequests: &n}
}

// take picks once more with the request's running random source.
func take(t testing.TB, p picker, engines []*core.Worker, req *core.PickRequest) *core.Worker {
	t.Helper()
	pick, err := p.Pick(engines, req)
	require.NoError(t, err)
	return pick.Worker
}

func TestPolicies_empty_list_asks_nothing(t *testing.T) {
	loads := &forbidden{t}
	for _, p := range each(t, capInflight(1), loads) {
		_, err := p.Pick(nil, coretest.PickRequest(1, core.StageDecode))
		var missing *core.NoCandidatesError
		require.ErrorAs(t, err, &missing, p.Name())
		require.Equal(t, core.NoCandidatesError{Bucket: "b", Stage: core.StageDecode}, *missing)
	}
}

// forbidden is a load view that nobody may ask.
type forbidden struct{ t testing.TB }

func (f *forbidden) Report(w *core.Worker, _ core.Instant) (*core.LoadReport, bool) {
	f.t.Errorf("report of %s was read", w.ID)
	return nil, false
}

func (f *forbidden) Inflight(w *core.Worker) uint64 {
	f.t.Errorf("in-flight of %s was read", w.ID)
	return 0
}

func (f *forbidden) SinceReport(w *core.Worker) uint64 {
	f.t.Errorf("requests since the report of %s were read", w.ID)
	return 0
}

func TestPolicies_support_every_stage_of_an_engine(t *testing.T) {
	for _, p := range each(t, admission.Limits{}, &coretest.Loads{}) {
		for _, stage := range []core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode} {
			require.NoError(t, p.Supports(stage))
		}
		require.ErrorIs(t, p.Supports(core.StageNone), core.ErrInvalid)
	}
}

func TestPolicies_names_and_reasons(t *testing.T) {
	engines := coretest.Workers(3)
	for _, p := range each(t, admission.Limits{}, &coretest.Loads{}) {
		pick, err := p.Pick(engines, coretest.PickRequest(1, core.StagePlain))
		require.NoError(t, err)
		want := p.Name()
		if want == "consistent_hash" {
			want = "no_key"
		}
		require.Equal(t, want, pick.Reason.String())
	}
}

func TestPolicies_refuse_a_missing_load_view(t *testing.T) {
	_, first := policy.NewRoundRobin(admission.Limits{}, nil, 0)
	_, second := policy.NewRandom(admission.Limits{}, nil)
	_, third := policy.NewPowerOfTwo(2, admission.Limits{}, nil)
	_, fourth := policy.NewLoadBased(admission.Limits{}, nil, 0)
	_, fifth := policy.NewConsistentHash(hashing(), admission.Limits{}, nil)
	for _, err := range []error{first, second, third, fourth, fifth} {
		require.ErrorIs(t, err, core.ErrInvalid)
	}
}

func TestPolicies_without_a_random_source_refuse_the_request(t *testing.T) {
	loads := &coretest.Loads{}
	for _, p := range []picker{random(t, admission.Limits{}, loads), powerOf(t, 2, admission.Limits{}, loads)} {
		req := coretest.PickRequest(1, core.StagePlain)
		req.Rand = nil
		_, err := p.Pick(coretest.Workers(2), req)
		require.ErrorIs(t, err, core.ErrInvalid)
		require.False(t, core.Advance(err))
	}
}

func TestPolicies_repeat_themselves_for_a_seed(t *testing.T) {
	engines := coretest.Workers(50)
	run := func(p picker) (ids []core.WorkerID) {
		for seed := range uint64(100) {
			ids = append(ids, take(t, p, engines, coretest.PickRequest(seed, core.StagePlain)).ID)
		}
		return ids
	}
	first, second := each(t, admission.Limits{}, &coretest.Loads{}), each(t, admission.Limits{}, &coretest.Loads{})
	for i := range first {
		require.Equal(t, run(first[i]), run(second[i]), first[i].Name())
	}
}

// A former, larger or smaller candidate list leaves no trace in a pick.
func TestPolicies_do_not_depend_on_the_size_of_former_lists(t *testing.T) {
	engines := coretest.Workers(100)
	loads := &coretest.Loads{}
	for _, used := range []picker{random(t, admission.Limits{}, loads), powerOf(t, 3, admission.Limits{}, loads)} {
		sizes := rand.New(rand.NewPCG(4, 4))
		for seed := range uint64(200) {
			n := 1 + sizes.IntN(100)
			var fresh picker = random(t, admission.Limits{}, loads)
			if used.Name() == "power_of_two" {
				fresh = powerOf(t, 3, admission.Limits{}, loads)
			}
			want := take(t, fresh, engines[:n], coretest.PickRequest(seed, core.StagePlain))
			require.Same(t, want, take(t, used, engines[:n], coretest.PickRequest(seed, core.StagePlain)))
		}
	}
}

func TestPolicies_pick_without_allocating(t *testing.T) {
	engines := coretest.Workers(64)
	loads := &coretest.Loads{}
	for i, w := range engines {
		loads.SetReport(w, coretest.NativeReport())
		loads.SetInflight(w, uint64(i%8)) // some are rejected on the way
	}
	policies := []picker{
		roundRobin(t, capInflight(7), loads), random(t, capInflight(7), loads),
		powerOf(t, 2, capInflight(8), loads), powerOf(t, 64, capInflight(8), loads),
		loadBased(t, capInflight(7), loads), consistentHash(t, hashing(), capInflight(7), loads),
	}
	req := coretest.PickRequest(1, core.StageDecode)
	req.SessionKey = "s"
	for _, p := range policies {
		for range 100 {
			take(t, p, engines, req)
		}
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			if _, err := p.Pick(engines, req); err != nil {
				t.Error(err)
			}
		}), p.Name())
	}
}

func TestPolicies_errors_outlive_later_picks(t *testing.T) {
	engines := coretest.Workers(2)
	loads := &coretest.Loads{}
	p := roundRobin(t, capInflight(1), loads)
	loads.SetInflight(engines[0], 1)
	loads.SetInflight(engines[1], 2)
	_, first := p.Pick(engines, coretest.PickRequest(1, core.StagePlain))
	before := core.Rejections(first)
	loads.SetInflight(engines[0], 9)
	_, second := p.Pick(engines, coretest.PickRequest(1, core.StagePlain))
	require.Error(t, second)
	require.Equal(t, []core.Rejection{
		{Worker: "w0000", Limit: "max_inflight_requests", Value: 1, Cap: 1},
		{Worker: "w0001", Limit: "max_inflight_requests", Value: 2, Cap: 1},
	}, before)
}

// Rejection and emptiness stay distinct classes, so the edge can name the cause.
func TestE07_each_cause_is_distinct(t *testing.T) {
	engines := coretest.Workers(3)
	loads := &coretest.Loads{}
	for _, w := range engines {
		loads.SetInflight(w, 1)
	}
	for _, p := range each(t, capInflight(1), loads) {
		_, empty := p.Pick(nil, coretest.PickRequest(1, core.StagePlain))
		_, full := p.Pick(engines, coretest.PickRequest(1, core.StagePlain))
		require.True(t, errors.Is(empty, core.ErrUnavailable) && !errors.Is(empty, core.ErrRejected))
		require.True(t, errors.Is(full, core.ErrRejected) && !errors.Is(full, core.ErrUnavailable))
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		engines := coretest.Workers(n)
		loads := &coretest.Loads{}
		for i, w := range engines {
			loads.SetReport(w, coretest.NativeReport())
			loads.SetInflight(w, uint64(i%8))
		}
		for _, p := range each(b, capInflight(100), loads) {
			b.Run(fmt.Sprintf("workers=%d/policy=%s", n, p.Name()), func(b *testing.B) {
				req := keyed("session-42")
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
