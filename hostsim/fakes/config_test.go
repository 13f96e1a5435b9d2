package fakes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestZeroConfigIsUsable(t *testing.T) {
	e, err := New(Config{})
	require.NoError(t, err)
	c := e.Config()
	require.Equal(t, []string{"demo"}, c.Models)
	require.Equal(t, "0.32.0", c.Version)
	require.Equal(t, Plain, c.Role)
	require.Empty(t, e.Addr())
	require.Empty(t, e.URL())
	e.Stop()
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, e.Heal())
}

func TestKVBlocksFollowTheContextLength(t *testing.T) {
	e, err := New(Config{MaxModelLen: 1 << 24})
	require.NoError(t, err)
	require.Equal(t, 1<<20, e.Config().KVBlocks)
}

func TestConfigReportsAllProblemsAtOnce(t *testing.T) {
	_, err := New(Config{
		Dialect: 7, Role: "both", Name: "a\nb", Models: []string{"m", "m", ""}, Adapters: []Adapter{{Name: "m", Parent: "x"}},
		Slots: -1, Ranks: -1, PrefillBase: -time.Second, BlockSize: 16, KVBlocks: 2, MaxModelLen: 64, BootstrapPort: 70000, BodyLimit: -1,
	})
	require.Error(t, err)
	for _, path := range []string{
		"dialect:", "role:", "name:", "models[1]:", "models[2]:", "adapters[0].name:", "adapters[0].parent:", "slots:", "ranks:",
		"prefill_base:", "max_model_len:", "bootstrap_port:", "body_limit:",
	} {
		require.ErrorContains(t, err, path)
	}
}
