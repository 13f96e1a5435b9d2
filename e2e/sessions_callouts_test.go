package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Calls that requests make to the state service, as it counts them itself: none
// where no policy needs any, one for a session that is known, two for a new one, one
// for tokens and what engines hold of a prompt together (design section 1).
func TestSessions_callouts_are_counted(t *testing.T) {
	const models = `{
		"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]},
		"free": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
		"hashed": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session"}}}}]},
		"past": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "history"}}}}]},
		"held": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]},
		"limited": {"buckets": [{"id": "short", "limits": {"max": 100000}, "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}
	}`
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, h, 4, frontSetup{models: models, sync: patient}, "m", "free", "hashed", "past", "held", "limited")
			observes, binds := 0, 0
			// Totals: a call too many shows in every later step as well.
			counted := func(step string) {
				t.Helper()
				s.one.eventually(func() bool { return s.state.calls("observe") >= observes && s.state.calls("bind") >= binds }, step)
				require.Equal(t, [2]int{observes, binds}, [2]int{s.state.calls("observe"), s.state.calls("bind")}, step)
			}
			keys := named("chat", 10)
			for _, key := range keys {
				require.NotEmpty(t, s.turn(s.one, "free", key).engine())
				require.NotEmpty(t, s.turn(s.other, "hashed", key).engine())
				require.NotEmpty(t, s.turn(s.one, "past", key).engine())
			}
			counted("policies that need nothing")
			for range 10 {
				require.NotEmpty(t, s.one.chatWith().engine())
				require.NotEmpty(t, s.other.chatWith("x-session-id", "").engine())
			}
			counted("requests without a session")
			for _, model := range []string{"held", "limited"} {
				for i, key := range keys {
					require.NotEmpty(t, s.turn(s.fronts()[i%2], model, key).engine())
				}
				observes += len(keys)
				counted("what engines hold: " + model)
			}
			for _, key := range keys {
				s.home(0, key)
			}
			observes, binds = observes+len(keys), binds+len(keys)
			counted("new sessions")
			for turn := range 6 {
				for _, key := range keys {
					s.home(turn, key)
				}
			}
			observes += 6 * len(keys)
			counted("known sessions")
			require.Equal(t, len(keys), s.state.metric(`pointsman_state_proposals_total{outcome="won"}`))
			require.Zero(t, s.state.metric(`pointsman_state_proposals_total{outcome="lost"}`))
			require.Equal(t, len(keys), s.state.metric("pointsman_state_bindings"))
		})
	}
}
