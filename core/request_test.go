package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
)

// Reasons and decisions are metric labels: distinct, of a closed alphabet, and
// of a name whatever the number.
func TestRequest_labels(t *testing.T) {
	reasons, decisions := map[string]bool{}, map[string]bool{}
	for r := range core.ReasonCount {
		reasons[core.Reason(r).String()] = true
	}
	for d := range core.CacheDecisionCount {
		decisions[core.CacheDecision(d).String()] = true
	}
	require.Len(t, reasons, core.ReasonCount)
	require.Len(t, decisions, core.CacheDecisionCount)
	for label := range reasons {
		require.Regexp(t, `^[a-z_]+$`, label)
	}
	require.Equal(t, map[string]bool{"none": true, "cache_hit": true, "cache_miss": true, "cache_worker_queued": true, "all_queued": true}, decisions)
	require.Equal(t, "none", core.Reason(core.ReasonCount).String())
	require.Equal(t, "none", core.Reason(255).String())
	require.Equal(t, "none", core.CacheDecision(255).String())
}
