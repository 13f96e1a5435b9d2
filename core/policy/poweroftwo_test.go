package policy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/pressure"
)

func TestPowerOfTwo_needs_a_choice(t *testing.T) {
	for _, n := range []int{0, -1} {
		_, err := policy.NewPowerOfTwo(n, admission.Limits{}, &coretest.Loads{})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
}

func TestPowerOfTwo_takes_the_lower_pressure(t *testing.T) {
	engines := coretest.Workers(2)
	loads := &coretest.Loads{}
	loads.SetInflight(engines[0], 1)
	p := powerOf(t, 2, admission.Limits{}, loads)
	for seed := range uint64(50) {
		require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(seed, core.StagePlain)))
	}
}

func TestPowerOfTwo_compares_for_the_stage(t *testing.T) {
	engines := coretest.Workers(2)
	loads := &coretest.Loads{}
	queued, running := coretest.NativeReport(), coretest.NativeReport()
	queued.WaitingUncached = core.Known(5000)
	running.Running = core.Known(9)
	loads.SetReport(engines[0], queued)
	loads.SetReport(engines[1], running)
	p := powerOf(t, 2, admission.Limits{}, loads)
	for seed := range uint64(50) {
		require.Same(t, engines[1], take(t, p, engines, coretest.PickRequest(seed, core.StagePrefill)))
		require.Same(t, engines[0], take(t, p, engines, coretest.PickRequest(seed, core.StageDecode)))
	}
}

func TestPowerOfTwo_single_candidate_is_observed_and_admitted(t *testing.T) {
	engines := coretest.Workers(1)
	loads := &coretest.Loads{}
	report := coretest.NativeReport()
	report.KVTotal = core.Known(900)
	loads.SetReport(engines[0], report)
	req := coretest.PickRequest(1, core.StageDecode)
	req.Rand = nil // nothing to sample

	require.Same(t, engines[0], take(t, powerOf(t, 2, admission.Limits{MaxKVTokens: new(uint64(901))}, loads), engines, req))
	require.Equal(t, 1, loads.Reads(engines[0]))

	_, err := powerOf(t, 2, admission.Limits{MaxKVTokens: new(uint64(900))}, loads).Pick(engines, req)
	var rejected *core.AdmissionError
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, core.AdmissionError{
		Bucket: "b", Stage: core.StageDecode,
		Rejection: core.Rejection{Worker: "w0000", Limit: "max_kv_tokens", Value: 900, Cap: 900},
	}, *rejected)
}

// The loser would be admitted; the pick is refused all the same.
func TestPowerOfTwo_rejection_of_the_winner_is_final(t *testing.T) {
	engines := coretest.Workers(2)
	loads := &coretest.Loads{}
	winner, loser := coretest.NativeReport(), coretest.NativeReport()
	winner.KVTotal = core.Known(1000)
	loser.Running = core.Known(9)
	loads.SetReport(engines[0], winner)
	loads.SetReport(engines[1], loser)
	p := powerOf(t, 2, admission.Limits{MaxKVTokens: new(uint64(1000))}, loads)
	for seed := range uint64(20) {
		_, err := p.Pick(engines, coretest.PickRequest(seed, core.StagePlain))
		require.Equal(t, core.WorkerID("w0000"), core.Rejections(err)[0].Worker)
		require.Len(t, core.Rejections(err), 1)
	}
	require.Equal(t, 20, loads.Reads(engines[0]), "one observation for choice and admission")
	require.Equal(t, 20, loads.Reads(engines[1]))
}

// shifting gives another in-flight count at each reading.
type shifting struct {
	coretest.Loads
	next uint64
}

func (s *shifting) Inflight(*core.Worker) uint64 { s.next++; return s.next }

func TestPowerOfTwo_admits_by_the_observation_it_chose_with(t *testing.T) {
	engines := coretest.Workers(2)
	_, err := powerOf(t, 2, capInflight(1), &shifting{}).Pick(engines, coretest.PickRequest(1, core.StagePlain))
	require.Equal(t, uint64(1), core.Rejections(err)[0].Value, "the first sampled is the lower and is not read again")
}

func TestPowerOfTwo_samples_no_more_than_its_choices(t *testing.T) {
	engines := coretest.Workers(100)
	for choices, want := range map[int]int{1: 1, 2: 2, 7: 7, 100: 100, 500: 100} {
		loads := &coretest.Loads{}
		take(t, powerOf(t, choices, admission.Limits{}, loads), engines, coretest.PickRequest(3, core.StagePlain))
		read := 0
		for _, w := range engines {
			require.LessOrEqual(t, loads.Reads(w), 1, "distinct")
			read += loads.Reads(w)
		}
		require.Equal(t, want, read, "choices %d", choices)
	}
}

// On a tie the first sampled wins, so winner and other reading show the ordered
// pair that was drawn: all 20 of 5 engines are equally likely.
func TestPowerOfTwo_samples_ordered_pairs_uniformly(t *testing.T) {
	engines := coretest.Workers(5)
	loads := &coretest.Loads{}
	p := powerOf(t, 2, admission.Limits{}, loads)
	req := coretest.PickRequest(42, core.StagePlain)
	counts, reads := map[[2]int]int{}, make([]int, 5)
	for range 40_000 {
		pair := [2]int{take(t, p, engines, req).Slot, -1}
		for i, w := range engines {
			if now := loads.Reads(w); now > reads[i] && i != pair[0] {
				pair[1] = i
			}
			reads[i] = loads.Reads(w)
		}
		counts[pair]++
	}
	require.Len(t, counts, 20)
	require.Less(t, spread(counts, 20, 40_000), 60.0, "chi-square of 19 degrees of freedom: %v", counts)
}

// The whole pick against a shuffled copy and the naive pressure oracle.
func TestPowerOfTwo_agrees_with_the_naive_fold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engines := coretest.Workers(rapid.IntRange(2, 12).Draw(t, "n"))
		choices := rapid.IntRange(1, 14).Draw(t, "choices")
		stage := rapid.SampledFrom([]core.Stage{core.StagePlain, core.StagePrefill, core.StageDecode}).Draw(t, "stage")
		seed := rapid.Uint64().Draw(t, "seed")
		loads := &coretest.Loads{}
		sides := make([]pressure.Side, len(engines))
		for i, w := range engines {
			sides[i].Inflight = rapid.Uint64Range(0, 3).Draw(t, "inflight")
			if rapid.IntRange(0, 5).Draw(t, "reported") > 0 {
				sides[i].Report = drawReport(t)
			}
			loads.SetInflight(w, sides[i].Inflight)
			loads.SetReport(w, sides[i].Report)
		}
		p, err := policy.NewPowerOfTwo(choices, admission.Limits{}, loads)
		require.NoError(t, err)
		pick, err := p.Pick(engines, coretest.PickRequest(seed, stage))
		require.NoError(t, err)
		require.Same(t, engines[naiveFold(sides, choices, stage, seed)], pick.Worker)
	})
}

func drawReport(t *rapid.T) *core.LoadReport {
	r := coretest.NativeReport()
	r.Waiting = core.Known(rapid.Uint64Range(0, 2).Draw(t, "waiting"))
	r.Running = core.Known(rapid.Uint64Range(0, 2).Draw(t, "running"))
	r.WaitingUncached = core.Known(rapid.Uint64Range(0, 2).Draw(t, "uncached"))
	r.KVUsed = core.Known(rapid.Uint64Range(0, 2).Draw(t, "used"))
	r.PrefillRate = rapid.SampledFrom([]float64{0, 1, 2}).Draw(t, "rate")
	return r
}

// naiveFold shuffles a fresh list with the request's own random source.
func naiveFold(sides []pressure.Side, choices int, stage core.Stage, seed uint64) int {
	source := rand.New(rand.NewPCG(seed, 0))
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	best := -1
	for i := range min(choices, len(order)) {
		j := i + source.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
		if best < 0 || coretest.PressureOrder(stage, sides[order[i]], sides[best]) < 0 {
			best = order[i]
		}
	}
	return best
}
