package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cappedModels have the same sessions' bucket, m with a bucket to overflow into.
const cappedModels = `{
	"m": {"buckets": [
		{"id": "homes", "rank": 1, "groups": {"plain": {"worker_ids": ["engine-0", "engine-1"], "policy": {"type": "session_aware", "admission": {"max_inflight_requests": 3}}}}},
		{"id": "rest", "rank": 2, "groups": {"plain": {"worker_ids": ["engine-2"], "policy": {"type": "round_robin"}}}}
	]},
	"alone": {"buckets": [{"id": "homes", "groups": {"plain": {"worker_ids": ["engine-0", "engine-1"], "policy": {"type": "session_aware", "admission": {"max_inflight_requests": 3}}}}}]}
}`

// A bound engine that is full costs its sessions single turns, not their home: the
// next bucket takes them, or 503 where there is none, nothing is bound anew, and
// when the load drops they are back (field report H11).
func TestSessions_over_a_cap_come_back(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, h, 3, frontSetup{models: cappedModels, sync: patient}, "m", "alone")
			keys := named("chat", 24) // so many that both engines are somebody's home
			homes := s.settle(keys)
			alone := s.turn(s.one, "alone", "chat-0").engine()
			bound := s.state.calls("bind")
			require.Equal(t, len(keys)+1, bound, "each session was bound once")

			release := s.fill(homes)
			for i, key := range keys {
				a := s.turn(s.fronts()[i%2], "m", key)
				require.Equal(t, "engine-2", a.engine(), "%s overflows from %s: %s", key, homes[key], a.body)
			}
			s.one.requireRefused(s.turn(s.one, "alone", "chat-0"), http.StatusServiceUnavailable, "policy_selection_failed")
			s.other.requireRefused(s.turn(s.other, "alone", "chat-0"), http.StatusServiceUnavailable, "policy_selection_failed")
			release()

			require.Equal(t, homes, s.settle(keys), "every session is back")
			require.Equal(t, alone, s.turn(s.other, "alone", "chat-0").engine())
			require.Equal(t, bound, s.state.calls("bind"), "no placement was proposed meanwhile")
		})
	}
}

// turn sends a turn of a session of a model.
func (s *sessions) turn(f *front, model, key string) answer {
	h := jsonHeader()
	h.Set("x-session-id", key)
	return f.do(http.MethodPost, "/v1/chat/completions", h, strings.NewReader(chatBody(model, 100)))
}

// fill brings both home engines to their cap with turns of their own sessions and
// waits until both proxies know; release lets these end.
func (s *sessions) fill(homes map[string]string) (release func()) {
	s.t.Helper()
	var turns sync.WaitGroup
	for i := range 2 {
		s.fleet.Engines()[i].Hang(fakes.HangInference)
	}
	for _, name := range []string{"engine-0", "engine-1"} {
		key := ""
		for k, home := range homes {
			if home == name {
				key = k
			}
		}
		require.NotEmpty(s.t, key, "%s is nobody's home: %v", name, homes)
		for range 3 {
			turns.Go(func() { require.Equal(s.t, name, s.turn(s.one, "m", key).engine()) })
		}
	}
	for _, f := range s.fronts() {
		f.awaitEngine("engine-0", 3)
		f.awaitEngine("engine-1", 3)
	}
	s.settled()
	return func() {
		for i := range 2 {
			s.fleet.Engines()[i].Hang(fakes.HangNothing)
		}
		turns.Wait()
		s.one.awaitInflight(0)
		s.settled()
	}
}
