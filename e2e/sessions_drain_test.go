package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An engine that drains keeps the sessions it has and is given no others; when it
// drains no more it is given some again.
func TestSessions_stay_on_a_draining_engine(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, h, 3, frontSetup{models: boundModels, sync: patient}, "m")
			keys := named("old", 24)
			homes := s.settle(keys)
			drained := homes[keys[0]]
			s.meddler.drain(drained)
			s.settled()
			require.Equal(t, homes, s.settle(keys), "bound sessions stay")
			for key, home := range s.settle(named("new", 24)) {
				require.NotEqual(t, drained, home, key)
			}
			for range 24 {
				require.NotEqual(t, drained, s.one.chatWith().engine(), "without a session")
			}
			require.Equal(t, homes, s.settle(keys), "they stay for as long as it lasts")
			bound := s.state.calls("bind")
			require.Equal(t, 48, bound, "each session was bound once")

			s.meddler.drain("")
			s.settled()
			after := s.settle(named("later", 24))
			require.True(t, slices.ContainsFunc(named("later", 24), func(key string) bool { return after[key] == drained }), "%v", after)
			require.Equal(t, homes, s.settle(keys))
		})
	}
}
