package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

func all(n uint64) admission.Limits {
	return admission.Limits{
		MaxRunningRequests: new(n), MaxWaitingRequests: new(n), MaxKVTokens: new(n),
		MaxPendingPrefillTokens: new(n), MaxInflightRequests: new(n),
	}
}

func TestLimits_check(t *testing.T) {
	full := core.Metrics{
		Running: core.Known(5), Waiting: core.Known(5), KVTokens: core.Known(5),
		PendingPrefill: core.Known(5), Inflight: 5,
	}
	tests := map[string]struct {
		limits   admission.Limits
		metrics  core.Metrics
		violated string // empty admits
	}{
		"zero value admits everything":    {admission.Limits{}, full, ""},
		"below every cap":                 {all(6), full, ""},
		"running at the cap":              {admission.Limits{MaxRunningRequests: new(uint64(5))}, full, admission.MaxRunningRequests},
		"waiting at the cap":              {admission.Limits{MaxWaitingRequests: new(uint64(5))}, full, admission.MaxWaitingRequests},
		"kv at the cap":                   {admission.Limits{MaxKVTokens: new(uint64(5))}, full, admission.MaxKVTokens},
		"pending prefill at the cap":      {admission.Limits{MaxPendingPrefillTokens: new(uint64(5))}, full, admission.MaxPendingPrefillTokens},
		"in-flight at the cap":            {admission.Limits{MaxInflightRequests: new(uint64(5))}, full, admission.MaxInflightRequests},
		"above the cap":                   {admission.Limits{MaxKVTokens: new(uint64(4))}, full, admission.MaxKVTokens},
		"first violated cap is reported":  {all(5), full, admission.MaxRunningRequests},
		"unknown metrics fail open":       {all(1), core.Metrics{}, ""},
		"in-flight is known with no load": {all(1), core.Metrics{Inflight: 1}, admission.MaxInflightRequests},
		"unknown running does not hide waiting": {
			all(3), core.Metrics{Waiting: core.Known(3)}, admission.MaxWaitingRequests,
		},
		"known zero is below a cap of one": {all(1), core.NewMetrics(&core.LoadReport{
			Running: core.Known(0), Waiting: core.Known(0), KVTotal: core.Known(0), WaitingUncached: core.Known(0),
		}, 0), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, admitted := tt.limits.Check("w", tt.metrics)
			require.Equal(t, tt.violated == "", admitted)
			require.Equal(t, tt.violated, got.Limit)
		})
	}
}

func TestLimits_rejection_names_engine_value_and_cap(t *testing.T) {
	limits := admission.Limits{MaxKVTokens: new(uint64(800))}
	got, admitted := limits.Check("engine-1", core.Metrics{KVTokens: core.Known(950)})
	require.False(t, admitted)
	require.Equal(t, core.Rejection{Worker: "engine-1", Limit: "max_kv_tokens", Value: 950, Cap: 800}, got)
}

// The caps in order, against a list walked by hand.
func TestLimits_check_agrees_with_a_list_of_caps(t *testing.T) {
	count := rapid.Custom(func(t *rapid.T) core.Count {
		return core.Count{N: rapid.Uint64Range(0, 4).Draw(t, "n"), Known: rapid.Bool().Draw(t, "known")}
	})
	optional := rapid.Ptr(rapid.Uint64Range(1, 4), true)
	rapid.Check(t, func(t *rapid.T) {
		caps := []*uint64{optional.Draw(t, "running"), optional.Draw(t, "waiting"), optional.Draw(t, "kv"), optional.Draw(t, "pending"), optional.Draw(t, "inflight")}
		seen := []core.Count{count.Draw(t, "r"), count.Draw(t, "w"), count.Draw(t, "k"), count.Draw(t, "p"), core.Known(rapid.Uint64Range(0, 4).Draw(t, "i"))}
		names := []string{"max_running_requests", "max_waiting_requests", "max_kv_tokens", "max_pending_prefill_tokens", "max_inflight_requests"}

		want := ""
		for i := range names {
			if want == "" && caps[i] != nil && seen[i].Known && !(seen[i].N < *caps[i]) {
				want = names[i]
			}
		}
		limits := admission.Limits{
			MaxRunningRequests: caps[0], MaxWaitingRequests: caps[1], MaxKVTokens: caps[2],
			MaxPendingPrefillTokens: caps[3], MaxInflightRequests: caps[4],
		}
		got, admitted := limits.Check("w", core.Metrics{Running: seen[0], Waiting: seen[1], KVTokens: seen[2], PendingPrefill: seen[3], Inflight: seen[4].N})
		require.Equal(t, want, got.Limit)
		require.Equal(t, want == "", admitted)
	})
}

func TestLimits_validate_lists_every_zero_cap(t *testing.T) {
	require.Empty(t, admission.Limits{}.Validate("admission"))
	require.Empty(t, all(1).Validate("admission"))

	problems := all(0).Validate("buckets[0].admission")
	require.Len(t, problems, 5)
	require.EqualError(t, problems[2], "buckets[0].admission.max_kv_tokens: 0 admits nothing; use at least 1 or leave it out")
}

func TestLimits_json_names(t *testing.T) {
	text, err := json.Marshal(all(7))
	require.NoError(t, err)
	require.JSONEq(t, `{"max_running_requests":7,"max_waiting_requests":7,"max_kv_tokens":7,
		"max_pending_prefill_tokens":7,"max_inflight_requests":7}`, string(text))

	text, err = json.Marshal(admission.Limits{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(text))
}

func TestLimits_empty(t *testing.T) {
	require.True(t, admission.Limits{}.Empty())
	require.False(t, admission.Limits{MaxInflightRequests: new(uint64(1))}.Empty())
}

// An engine without any report is unknown, neither idle nor saturated.
func TestE05_engine_without_report_is_unknown(t *testing.T) {
	limits := all(1)
	_, admitted := limits.Check("w", core.NewMetrics(nil, 0))
	require.True(t, admitted)
}

// A basic report feeds running and waiting only; the caps it says nothing of
// fail open.
func TestE10_basic_report_feeds_running_and_waiting_only(t *testing.T) {
	basic := &core.LoadReport{Running: core.Known(9), Waiting: core.Known(9)}
	kv := admission.Limits{MaxKVTokens: new(uint64(1)), MaxPendingPrefillTokens: new(uint64(1))}
	_, admitted := kv.Check("w", core.NewMetrics(basic, 0))
	require.True(t, admitted)

	running := admission.Limits{MaxRunningRequests: new(uint64(9))}
	_, admitted = running.Check("w", core.NewMetrics(basic, 0))
	require.False(t, admitted)
}

// A decode engine holds KV blocks for a transfer that never reports: nothing
// runs, and the KV cap alone sees it.
func TestG16_kv_cap_catches_blocks_held_without_running(t *testing.T) {
	limits := admission.Limits{MaxRunningRequests: new(uint64(64)), MaxKVTokens: new(uint64(1000))}
	report := &core.LoadReport{Running: core.Known(0), KVTotal: core.Known(1000)}
	got, admitted := limits.Check("d1", core.NewMetrics(report, 0))
	require.False(t, admitted)
	require.Equal(t, admission.MaxKVTokens, got.Limit)
}

func TestLimits_check_does_not_allocate(t *testing.T) {
	limits := all(100)
	metrics := core.Metrics{Running: core.Known(1), KVTokens: core.Known(2), Inflight: 3}
	require.Zero(t, testing.AllocsPerRun(100, func() { limits.Check("w", metrics) }))
}

func BenchmarkLimits_check(b *testing.B) {
	limits := all(100)
	metrics := core.Metrics{Running: core.Known(1), KVTokens: core.Known(2), Inflight: 3}
	b.ReportAllocs()
	for b.Loop() {
		limits.Check("w", metrics)
	}
}
