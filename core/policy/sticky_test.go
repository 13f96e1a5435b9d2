package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

func TestSticky_fallbacks(t *testing.T) {
	engines, loads := coretest.Workers(4), &coretest.Loads{}
	for _, w := range engines[:3] {
		loads.SetInflight(w, 9)
	}
	for name, want := range map[string]map[core.WorkerID]bool{
		"round_robin":  {"w0000": true, "w0001": true, "w0002": true, "w0003": true},
		"random":       {"w0000": true, "w0001": true, "w0002": true, "w0003": true},
		"power_of_two": {"w0000": true, "w0001": true, "w0002": true, "w0003": true},
		"load_based":   {"w0003": true},
	} {
		f, ok := policy.ParseFallback(name)
		require.True(t, ok)
		p := sticky(t, f, admission.Limits{}, loads, &coretest.Bindings{})
		counts := map[core.WorkerID]int{}
		places := map[core.WorkerID]bool{}
		for seed := range uint64(400) {
			req := coretest.PickRequest(seed, core.StagePlain)
			req.RoutingKey = fmt.Sprint("k", seed%2)
			w := take(t, p, engines, req)
			counts[w.ID]++
			places[w.ID] = true
		}
		require.Equal(t, want, places, name)
		switch name {
		case "round_robin":
			require.Equal(t, 100, counts["w0003"])
		case "power_of_two":
			require.InDelta(t, 200, counts["w0003"], 50, "in half of all samples of two")
		}
	}
	_, ok := policy.ParseFallback("consistent_hash")
	require.False(t, ok)
}

// Adding an engine moves no key; losing one moves its own keys only.
func TestSticky_scale_up_moves_nothing(t *testing.T) {
	engines, bindings := coretest.Workers(5), &coretest.Bindings{}
	p := sticky(t, policy.FallbackRoundRobin, admission.Limits{}, &coretest.Loads{}, bindings)
	at := map[string]core.WorkerID{}
	send := func(key string, candidates []*core.Worker) core.Pick {
		req := coretest.PickRequest(1, core.StagePlain)
		req.RoutingKey = key
		pick, err := p.Pick(candidates, req)
		require.NoError(t, err)
		if pick.Bind {
			bindings.Bind(policy.Scope{Kind: policy.KeyRouting, Model: coretest.Model, Bucket: "b", Stage: core.StagePlain, Key: key}, pick.Worker.ID)
		}
		return pick
	}
	for i := range 40 {
		key := fmt.Sprint("tenant-", i)
		at[key] = send(key, engines[:4]).Worker.ID
	}
	for key, id := range at {
		pick := send(key, engines)
		require.Equal(t, id, pick.Worker.ID)
		require.Equal(t, core.ReasonSticky, pick.Reason)
	}
	for key, id := range at {
		pick := send(key, engines[1:])
		require.Equal(t, id == "w0000", pick.Bind, "only keys of the lost engine are placed anew")
		require.NotEqual(t, core.WorkerID("w0000"), pick.Worker.ID)
		require.Equal(t, pick.Worker.ID, send(key, engines).Worker.ID, "and stay when it comes back")
	}
}

// The rotation moves for new keys and requests without one, and for nothing else.
func TestSticky_bound_keys_do_not_rotate(t *testing.T) {
	engines, bindings := coretest.Workers(3), &coretest.Bindings{}
	bindings.Bind(policy.Scope{Kind: policy.KeyRouting, Model: coretest.Model, Bucket: "b", Stage: core.StagePlain, Key: "k"}, "w0002")
	p := sticky(t, policy.FallbackRoundRobin, admission.Limits{}, &coretest.Loads{}, bindings)
	keyless, bound := coretest.PickRequest(1, core.StagePlain), coretest.PickRequest(1, core.StagePlain)
	bound.RoutingKey = "k"
	for i := range 9 {
		require.Same(t, engines[2], take(t, p, engines, bound))
		require.Same(t, engines[i%3], take(t, p, engines, keyless))
	}
}
