package flow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/receipt"
)

// failures are the counters of failed selections by their reason, those that count.
func (m *machine) failures() map[string]uint64 {
	counts := map[string]uint64{}
	for c, n := range m.Counters {
		if reason, ok := strings.CutPrefix(Counter(c).Name(), "pointsman_selection_failures_total_reason="); ok && n > 0 {
			counts[reason] = n
		}
	}
	return counts
}

// A bucket that gives nothing is counted, also when a later one heals it.
func TestFailures_are_counted_by_bucket(t *testing.T) {
	m := newMachine(t, twoBuckets(`["e1"]`), engines(2)...)
	m.routed()
	require.Empty(t, m.failures())
	m.routed()
	require.Equal(t, map[string]uint64{"max_inflight_requests": 1}, m.failures(), "the long bucket healed it")
	m.chat(`{"model":"m"}`)
	require.Equal(t, map[string]uint64{"max_inflight_requests": 3}, m.failures())

	m = newMachine(t, twoBuckets(`["e1"]`), engine(1))
	m.routed()
	require.Equal(t, map[string]uint64{"no_candidates": 1}, m.failures())
}

func TestFailures_have_a_counter_for_each_cap(t *testing.T) {
	for _, limit := range []string{
		admission.MaxRunningRequests, admission.MaxWaitingRequests, admission.MaxKVTokens,
		admission.MaxPendingPrefillTokens, admission.MaxInflightRequests,
	} {
		m := newMachine(t, oneBucket)
		m.Counters.failed(&receipt.Try{Verdict: receipt.VerdictRejected, First: core.Rejection{Limit: limit}})
		require.Equal(t, map[string]uint64{limit: 1}, m.failures())
	}
	m := newMachine(t, oneBucket)
	m.Counters.failed(&receipt.Try{Verdict: receipt.VerdictRejected, First: core.Rejection{Limit: "of a policy to come"}})
	require.Empty(t, m.failures())
	m.Counters.failed(&receipt.Try{Verdict: receipt.VerdictFailed})
	require.Equal(t, map[string]uint64{"fault": 1}, m.failures())
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m.Counters.failed(&receipt.Try{Verdict: receipt.VerdictRejected, First: core.Rejection{Limit: admission.MaxKVTokens}})
	}))
}
