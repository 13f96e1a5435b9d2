package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// New sessions go to the engine under less pressure, as power_of_two's would.
func TestSessionAware_places_by_pressure(t *testing.T) {
	engines, loads := coretest.Workers(2), &coretest.Loads{}
	loads.SetInflight(engines[0], 5)
	p := sessionAware(t, admission.Limits{}, loads, &coretest.Bindings{})
	for seed := range uint64(20) {
		req := coretest.PickRequest(seed, core.StageDecode)
		require.Same(t, engines[1], take(t, p, engines, req))
		req.SessionKey = "s"
		require.Same(t, engines[1], take(t, p, engines, req))
	}
}

// A16: old sessions stay on the engine that fills up, unless admission refuses
// it; new ones go elsewhere.
func TestA16_new_sessions_avoid_the_full_engine(t *testing.T) {
	engines, loads, bindings := coretest.Workers(4), &coretest.Loads{}, &coretest.Bindings{}
	for i, w := range engines {
		report := coretest.NativeReport()
		if i == 0 {
			report.KVTotal, report.Running = core.Known(990), core.Known(8)
		}
		loads.SetReport(w, report)
	}
	limits := admission.Limits{MaxKVTokens: new(uint64(1000))}
	p := sessionAware(t, limits, loads, bindings)
	bindings.Bind(policy.Scope{Kind: policy.KeySession, Model: coretest.Model, Bucket: "b", Stage: core.StagePlain, Key: "old"}, "w0000")
	for seed := range uint64(32) {
		req := coretest.PickRequest(seed, core.StagePlain)
		req.SessionKey = "old"
		require.Same(t, engines[0], take(t, p, engines, req))
		req.SessionKey = "new"
		require.NotSame(t, engines[0], take(t, p, engines, req))
	}
	full := coretest.NativeReport()
	full.KVTotal = core.Known(1000)
	loads.SetReport(engines[0], full)
	req := coretest.PickRequest(1, core.StagePlain)
	req.SessionKey = "old"
	_, err := p.Pick(engines, req)
	require.ErrorIs(t, err, core.ErrRejected)
}

// H12: a key of any length is used by its hash, so a scope's key stays short.
func TestH12_scopes_hold_bounded_keys(t *testing.T) {
	bindings := &coretest.Bindings{}
	p := sessionAware(t, admission.Limits{}, &coretest.Loads{}, bindings)
	req := coretest.PickRequest(1, core.StagePlain)
	req.SessionKey = policy.BoundKey(strings.Repeat("k", 1<<20))
	take(t, p, coretest.Workers(2), req)
	require.Len(t, bindings.Asked(), 1)
	require.LessOrEqual(t, len(bindings.Asked()[0].Key), policy.MaxKey)
}
