package cached_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, c cached.Config) *cached.Server {
	t.Helper()
	c.Tokenizer = filepath.Join(envoytest.Root(t), ".tokenizers", "qwen3")
	s, err := cached.Start(c.Argument())
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

// Two chats of three turns before one engine: what the first turns left is found by the
// next ones, and a forgotten cache is empty.
func TestServer_finds_what_it_computed(t *testing.T) {
	engines := &rig.Engines{Addrs: start(t, cached.Instant(1)).Addrs()}
	run := func(named bool) rig.Caches {
		before, err := engines.Caches()
		require.NoError(t, err)
		c, err := load.Dial(engines.Addrs[0], 2)
		require.NoError(t, err)
		defer c.Close()
		chats := traffic.SessionChats(engine.Model, 1)
		chats.Sessions, chats.Turns, chats.Think = 2, 3, time.Millisecond
		result, err := c.Workload(chats.Start(), named)
		require.NoError(t, err)
		require.Equal(t, 6, result.Requests)
		after, err := engines.Caches()
		require.NoError(t, err)
		return after.Since(before)
	}
	first := run(false)
	require.Equal(t, []float64{6}, first.Requests)
	require.InDelta(t, 0.6, first.HitRate(), 0.1)
	require.InDelta(t, 1, first.Busiest(), 0)
	require.Greater(t, run(true).HitRate(), 0.98, "all of it was computed before")

	require.NoError(t, engines.Forget(t.Context()))
	require.InDelta(t, first.HitRate(), run(false).HitRate(), 0.05)
}

func TestServer_says_what_is_missing(t *testing.T) {
	c := cached.Sessions(1, 100_000)
	c.Tokenizer = t.TempDir()
	_, err := cached.Start(c.Argument())
	require.ErrorContains(t, err, "run make tokenizers")
	_, err = cached.Start("nonsense")
	require.ErrorContains(t, err, cached.Flag)
}
