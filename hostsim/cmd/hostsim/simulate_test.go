package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/simulate"
	"github.com/stretchr/testify/require"
)

// The acceptance of cache-aware routing by history (design section 5b) on the
// shipped module: the session workload of the peers' benchmark with 8 engines, in
// which no router can reach a hit rate above 0.841. Each number is the median of a
// few seeds; a seed always gives the same.

var filter envoytest.Builder

func TestMain(m *testing.M) {
	code := m.Run()
	if err := filter.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

func simulated(t *testing.T) *hostsim.Module {
	t.Helper()
	// A remembered result counts only while the sources that this test does not
	// import are the same.
	require.NoError(t, filepath.WalkDir("../../../wasmfilter", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = os.Stat(path)
		return err
	}))
	code, err := os.ReadFile(filter.Module(t))
	require.NoError(t, err)
	module, err := hostsim.Load(context.Background(), code, hostsim.ModuleOptions{Profile: hostsim.Envoy139})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close(context.Background())) })
	return module
}

// medians runs a command's simulation with a few seeds.
func medians(t *testing.T, module *hostsim.Module, c *simulateCmd, policy string, seeds int) (m simulate.Result, perSecond float64) {
	t.Helper()
	var hits, busiest, rates []float64
	for seed := range uint64(seeds) {
		r, err := c.simulation(policy, seed+1).run(t.Context(), module)
		require.NoError(t, err)
		require.Zero(t, r.Failed)
		hits, busiest, rates = append(hits, r.HitRate), append(busiest, r.Busiest), append(rates, r.PerSecond())
	}
	for _, list := range [][]float64{hits, busiest, rates} {
		slices.Sort(list)
	}
	m = simulate.Result{HitRate: hits[seeds/2], Busiest: busiest[seeds/2]}
	t.Logf("%s, %s, cache %d, %d contexts: hit rate %.3f (%.3f to %.3f), busiest/mean %.2f (%.2f to %.2f), %.0f requests/s",
		c.Workload, policy, c.Cache, c.Contexts, m.HitRate, hits[0], hits[seeds-1], m.Busiest, busiest[0], busiest[seeds-1], rates[seeds/2])
	return m, rates[seeds/2]
}

func command(workload string, cache, contexts int) *simulateCmd {
	return &simulateCmd{Workload: workload, Engines: 8, Cache: cache, Contexts: contexts}
}

func TestSimulate_history(t *testing.T) {
	module := simulated(t)
	large, _ := medians(t, module, command("session", 1_500_000, 4), "history", 3)
	require.GreaterOrEqual(t, large.HitRate, 0.81)
	require.LessOrEqual(t, large.Busiest, 1.15)

	small, _ := medians(t, module, command("session", 800_000, 4), "history", 3)
	require.GreaterOrEqual(t, small.HitRate, 0.80)
	require.LessOrEqual(t, small.Busiest, 1.15)

	one, _ := medians(t, module, command("session", 1_500_000, 1), "history", 1)
	require.InDelta(t, large.HitRate, one.HitRate, 0.02)
	require.LessOrEqual(t, one.Busiest, 1.15)

	long, _ := medians(t, module, command("long", 1_500_000, 4), "history", 1)
	require.GreaterOrEqual(t, long.HitRate, 0.80)

	// Engines of the benchmark's mock forget what they generate: no router can reach
	// more than 0.802 then.
	mock := command("long", 1_500_000, 4)
	mock.Forget = true
	long, _ = medians(t, module, mock, "history", 1)
	require.GreaterOrEqual(t, long.HitRate, 0.78)

	_, even := medians(t, module, command("hot", 1_500_000, 4), "round_robin", 1)
	_, hot := medians(t, module, command("hot", 1_500_000, 4), "history", 1)
	require.GreaterOrEqual(t, hot, 0.9*even)
}

// What history is worth: the same table for policies that know less.
func TestSimulate_other_policies(t *testing.T) {
	module := simulated(t)
	c := command("session", 1_500_000, 4)
	session, _ := medians(t, module, c, "session_aware", 1)
	require.Greater(t, session.HitRate, 0.8, "every session stays, by its header")
	blind, _ := medians(t, module, c, "power_of_two", 1)
	require.Less(t, blind.HitRate, 0.5)
}

func TestSimulate_repeats_itself(t *testing.T) {
	module := simulated(t)
	s := func() *simulate.Result {
		r, err := command("session", 800_000, 4).simulation("history", 7).run(t.Context(), module)
		require.NoError(t, err)
		return r
	}
	first, second := s(), s()
	require.Equal(t, first, second)
}

func TestSimulate_prints_a_table(t *testing.T) {
	var out, err bytes.Buffer
	code := doMain(t.Context(), []string{"simulate", "--filter", filter.Module(t), "--workload", "hot", "--policy", "round_robin,history"}, &out, &err)
	require.Equal(t, exitGood, code, err.String())
	require.Regexp(t, `^policy +seed +requests +hit rate +busiest/mean +req/s +failed\nround_robin +1 +1500 .*\nhistory +1 +1500 .*\n$`, out.String())

	for _, args := range [][]string{{"--policy", "magic"}, {"--engines", "0"}, {"--workload", "magic"}} {
		code = doMain(t.Context(), append([]string{"simulate", "--filter", filter.Module(t)}, args...), &out, &err)
		require.Equal(t, exitUsage, code, "%q", args)
	}
}
