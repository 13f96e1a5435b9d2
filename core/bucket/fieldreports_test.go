package bucket_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// Tests of this file are named after the entry of field-reports.md whose Want
// they show.

// trip opens the breaker of a worker at instant 0.
func trip(fleet *coretest.Fleet, w *core.Worker) {
	for range breaker.DefaultThreshold {
		ticket, _ := fleet.Breaker(w).Claim(0)
		fleet.Breaker(w).Report(ticket, breaker.Failure, 0)
	}
}

func powerOfTwo(t testing.TB, limits admission.Limits, loads policy.LoadView) bucket.Policy {
	p, err := policy.NewPowerOfTwo(policy.DefaultChoices, limits, loads)
	require.NoError(t, err)
	return p
}

// engine picks a plain engine.
func engine(t testing.TB, b *bucket.Bucket, registry bucket.Registry, req *core.BucketRequest) *core.Worker {
	t.Helper()
	pick, err := b.Pick(registry, req)
	require.NoError(t, err)
	plain, isPlain := pick.Plain()
	require.True(t, isPlain)
	return plain.Worker
}

// An unhealthy engine at load zero takes part in nothing.
func TestA06_unhealthy_engine_takes_part_in_nothing(t *testing.T) {
	fleet := plainFleet("a", "b", "c")
	fleet.Worker("c").Healthy = false
	loads := &coretest.Loads{}
	loads.SetInflight(fleet.Worker("a"), 5)
	loads.SetInflight(fleet.Worker("b"), 4)
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(powerOfTwo(t, admission.Limits{}, loads)))})
	for seed := range uint64(20) {
		require.Same(t, fleet.Worker("b"), engine(t, b, fleet, coretest.Request(seed)))
	}
	require.Zero(t, loads.Reads(fleet.Worker("c")))
}

// Two models whose requests alternate each rotate over their own engines.
func TestA19_cursor_per_group(t *testing.T) {
	fleet := plainFleet("a1", "a2", "b1")
	loads := &coretest.Loads{}
	rotation := func(id string, members ...core.WorkerID) *bucket.Bucket {
		return mustNew(t, bucket.Spec{ID: id, Groups: bucket.Plain(group(roundRobin(t, admission.Limits{}, loads), members...))})
	}
	a, b := rotation("a", "a1", "a2"), rotation("b", "b1")
	counts := map[core.WorkerID]int{}
	for seed := range uint64(200) {
		counts[engine(t, a, fleet, coretest.Request(seed)).ID]++
		counts[engine(t, b, fleet, coretest.Request(seed)).ID]++
	}
	require.Equal(t, map[core.WorkerID]int{"a1": 100, "a2": 100, "b1": 200}, counts)
}

// call sends a request at instant now through claim, answer and report.
func call(t *testing.T, b *bucket.Bucket, fleet *coretest.Fleet, seed uint64, now core.Instant, broken core.WorkerID) core.WorkerID {
	t.Helper()
	req := coretest.Request(seed)
	req.Now = now
	w := engine(t, b, fleet, req)
	ticket, ok := fleet.Breaker(w).Claim(now)
	require.True(t, ok, "an available engine can be claimed")
	status := 200
	if w.ID == broken {
		status = 500
	}
	fleet.Breaker(w).Report(ticket, breaker.OutcomeOf(status), now)
	return w.ID
}

// An engine that answers its health probe but fails every request gets the
// threshold, then one probe per cool-down.
func TestB06_broken_engine_gets_threshold_and_probes(t *testing.T) {
	fleet := plainFleet("good", "broken")
	loads := &coretest.Loads{}
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(roundRobin(t, admission.Limits{}, loads)))})
	counts := map[core.WorkerID]int{}
	for i := range 10 {
		counts[call(t, b, fleet, uint64(i), core.Instant(i), "broken")]++
	}
	require.Equal(t, map[core.WorkerID]int{"broken": 3, "good": 7}, counts)

	const coolDowns = 4
	for i := range 1000 {
		counts[call(t, b, fleet, uint64(i), core.Instant(i*coolDowns*breaker.DefaultCoolDown/1000), "broken")]++
	}
	require.LessOrEqual(t, counts["broken"], 3+coolDowns)
}

// With every breaker open there is no candidate, which is unavailable and not
// rejected.
func TestB06_all_open_is_unavailable(t *testing.T) {
	fleet := plainFleet("a", "b")
	trip(fleet, fleet.Worker("a"))
	trip(fleet, fleet.Worker("b"))
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(&scripted{}))})
	_, err := b.Pick(fleet, coretest.Request(1))
	require.ErrorIs(t, err, core.ErrUnavailable)
}

// An engine that fails fast always has the fewest requests, and is backed off; a
// new engine gets its share at once.
func TestA30_failing_engine_backs_off_and_new_one_joins(t *testing.T) {
	fleet := plainFleet("fast-fail", "a", "b")
	loads := &coretest.Loads{}
	loads.SetInflight(fleet.Worker("a"), 10)
	loads.SetInflight(fleet.Worker("b"), 10)
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(powerOfTwo(t, admission.Limits{}, loads)))})
	counts := map[core.WorkerID]int{}
	for i := range 100 {
		counts[call(t, b, fleet, uint64(i), core.Instant(i), "fast-fail")]++
	}
	require.Equal(t, breaker.DefaultThreshold, counts["fast-fail"])

	fleet.Add(coretest.Worker("new", core.StagePlain))
	counts = map[core.WorkerID]int{}
	for i := range 30 {
		counts[call(t, b, fleet, uint64(i), 200, "fast-fail")]++
	}
	require.Greater(t, counts["new"], 10, "%v", counts)
}

// An empty prefill pool is typed and names its stage; nothing serves instead.
func TestB10_empty_prefill_pool_is_a_typed_failure(t *testing.T) {
	fleet := coretest.NewFleet(coretest.Worker("d", core.StageDecode), coretest.Worker("plain", core.StagePlain))
	decode := &scripted{}
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(group(&scripted{}), group(decode))})
	_, err := b.Pick(fleet, coretest.Request(1))
	require.Equal(t, &core.NoCandidatesError{Bucket: "pd", Stage: core.StagePrefill}, err)
	require.Empty(t, decode.calls)
}

// Two pools on one fleet: an empty B leaves A alone, and B never borrows A's engines.
func TestB15_pools_do_not_touch(t *testing.T) {
	fleet := plainFleet("a1", "a2")
	a := mustNew(t, bucket.Spec{ID: "a", Groups: bucket.Plain(group(&scripted{}, "a1", "a2"))})
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(&scripted{}, "b1"))})
	_, err := b.Pick(fleet, coretest.Request(1))
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.Equal(t, core.WorkerID("a1"), engine(t, a, fleet, coretest.Request(1)).ID)

	borrowing := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(&scripted{
		script: func([]*core.Worker, *core.PickRequest) (core.Pick, error) {
			return core.Pick{Worker: fleet.Worker("a1")}, nil
		},
	}, "a2"))})
	_, err = borrowing.Pick(fleet, coretest.Request(1))
	require.ErrorIs(t, err, core.ErrOutsideCandidates)
}

// No members is unavailable, never a rejection.
func TestE01_empty_pool_is_unavailable(t *testing.T) {
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(roundRobin(t, capInflight(1), &coretest.Loads{})))})
	_, err := b.Pick(coretest.NewFleet(), coretest.Request(1))
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotErrorIs(t, err, core.ErrRejected)
}

// Input above the capacity matches no bucket, so neither leg starts.
func TestG04_input_above_capacity_reaches_neither_leg(t *testing.T) {
	prefill, decode := &scripted{}, &scripted{}
	r := resolver(t, mustNew(t, bucket.Spec{
		ID: "pd", MaxContext: new(core.Tokens(8192)), Groups: bucket.PD(group(prefill), group(decode)),
	}))
	list, err := r.Resolve(8193, core.Count{}, bucket.Targets{})
	require.NoError(t, err)
	require.Empty(t, list)
}

// Both engines of every pair come from one bucket, whatever fails on the way.
func TestG10_pairs_come_from_one_bucket(t *testing.T) {
	fleet := coretest.NewFleet(
		coretest.Worker("p-short", core.StagePrefill), coretest.Worker("d-short", core.StageDecode),
		coretest.Worker("p-long", core.StagePrefill), coretest.Worker("d-long", core.StageDecode),
	)
	loads := &coretest.Loads{}
	loads.SetInflight(fleet.Worker("d-short"), 1)
	pd := func(id string, most core.Tokens) *bucket.Bucket {
		return mustNew(t, bucket.Spec{ID: id, Max: &most, Groups: bucket.PD(
			group(roundRobin(t, capInflight(1), loads), core.WorkerID("p-"+id)),
			group(roundRobin(t, capInflight(1), loads), core.WorkerID("d-"+id)),
		)})
	}
	list, err := resolver(t, pd("long", 1000), pd("short", 500)).Resolve(100, core.Count{}, bucket.Targets{})
	require.NoError(t, err)

	_, err = list[0].Pick(fleet, coretest.Request(1))
	require.Equal(t, core.StageDecode, core.StageOf(err))
	require.True(t, core.Advance(err))
	pick, err := list[1].Pick(fleet, coretest.Request(1))
	require.NoError(t, err)
	prefill, decode, _ := pick.Pair()
	require.Equal(t, "p-long d-long", fmt.Sprint(prefill.Worker.ID, " ", decode.Worker.ID))
}

// Admission applies to the decode stage as it does to prefill.
func TestG14_admission_applies_to_each_stage(t *testing.T) {
	fleet := pdFleet()
	loads := &coretest.Loads{}
	loads.SetInflight(fleet.Worker("d1"), 1)
	loads.SetInflight(fleet.Worker("p1"), 1)
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(
		group(roundRobin(t, capInflight(1), loads)), group(roundRobin(t, capInflight(1), loads)),
	)})
	for range 4 {
		pick, err := b.Pick(fleet, coretest.Request(1))
		require.NoError(t, err)
		prefill, decode, _ := pick.Pair()
		require.Equal(t, core.WorkerID("p2"), prefill.Worker.ID)
		require.Equal(t, core.WorkerID("d2"), decode.Worker.ID)
	}
}
