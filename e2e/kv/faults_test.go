package kv

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/stretchr/testify/require"
)

// scene is one engine and the service that follows it.
type scene struct {
	*service
	f    *follower
	feed *kvfeed.Feed
}

func stage(t *testing.T, cfg fakes.KVConfig) *scene {
	t.Helper()
	cfg.Publish = true
	e, err := fakes.New(fakes.Config{BlockSize: 16, MaxModelLen: 240, KVBlocks: 30, KV: &cfg})
	require.NoError(t, err)
	require.NoError(t, e.Start(""))
	t.Cleanup(e.Stop)
	feed, ok := e.Feed(0)
	require.True(t, ok)
	return &scene{service: serve(t, map[string]*fakes.Engine{"one": e}), f: &follower{t: t, engine: e}, feed: feed}
}

// ask sends requests until the engine has said n things more.
func (s *scene) ask(seed uint64, n uint64) {
	s.Helper()
	next := prompts(seed, false)
	for until := s.feed.Next() + n; s.feed.Next() < until; {
		s.f.ask(next(), 1)
	}
}

// known requires the service to know every hit of some requests.
func (s *scene) known(seed uint64) {
	s.Helper()
	next := prompts(seed, false)
	for i := range 20 {
		p := next()
		s.applied("one", s.f.engine)
		want := s.predict("one", p)
		require.Equal(s, want, s.f.ask(p, 1+i), "request %d", i)
	}
}

// distrusted waits until the service says why it does not trust the stream in full.
func (s *scene) distrusted(reason string) {
	s.Helper()
	var view struct {
		Engines []struct{ Trust, Reason string }
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		s.get("/v1/index?worker=one", &view)
		if v := view.Engines[0]; v.Reason == reason {
			require.Equal(s, "partial", v.Trust)
			return
		}
		require.True(s, time.Now().Before(deadline), "%+v", view)
	}
}

func TestService_lostBatchesAreFetched(t *testing.T) {
	s := stage(t, fakes.KVConfig{})
	s.known(1)
	s.feed.Lose(3)
	s.ask(2, 5) // two more tell of the gap
	s.known(3)
	s.feed.Lose(2)
	s.ask(4, 2) // nothing tells of this one but the service's own check
	s.known(5)
}

func TestService_repeatsAreNoNews(t *testing.T) {
	s := stage(t, fakes.KVConfig{})
	s.known(1)
	s.feed.Repeat(4)
	s.known(2)
	s.feed.SlowReplay(20 * time.Millisecond)
	s.feed.Lose(4)
	s.ask(3, 5)
	s.known(4)
}

// Without a replay socket a gap stays one, and is said, until a clear makes everything
// known again.
func TestService_gapWithoutReplayIsDistrusted(t *testing.T) {
	s := stage(t, fakes.KVConfig{NoReplay: true})
	require.Eventually(t, func() bool { return s.feed.Subscribers() == 1 }, patience, time.Millisecond)
	s.ask(1, 1)
	s.known(1)
	s.feed.Lose(1)
	s.ask(2, 3)
	s.distrusted("gap")
	s.f.post("/reset_prefix_cache", map[string]any{})
	s.ask(3, 1)
	s.known(4)
}

// What an engine says before its sockets are open is fetched when they are.
func TestService_slowPublisherIsCaughtUpWith(t *testing.T) {
	s := stage(t, fakes.KVConfig{StartAfter: 500 * time.Millisecond})
	s.ask(1, 4)
	s.known(2)
}
