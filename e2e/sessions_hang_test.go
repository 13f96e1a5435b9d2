package e2e

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// missed is how many calls of requests brought nothing by their deadline. The host
// or the filter's own tick may be the first to see it.
func (s *sessions) missed() int64 {
	return s.sum("pointsman_observes_total_outcome=late", "pointsman_observes_total_outcome=unavailable",
		"pointsman_binds_total_outcome=late", "pointsman_binds_total_outcome=unavailable")
}

// A state service that takes calls and never answers holds no request up. The calls
// never end by themselves, so that a request that is answered has waited for its
// deadline at most; how long that takes on a busy machine is not judged.
func TestSessions_wait_no_longer_than_the_deadline(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newSessions(t, h, 4, frontSetup{models: boundModels}, "m")
			homes := s.settleSlowly(named("known", 6))
			missed := s.missed()
			eachMissed := func(requests int64) {
				t.Helper()
				missed += requests
				s.one.eventually(func() bool { return s.missed() == missed }, "not every call counts as missed")
			}

			s.meddler.hang(wire.ObservePath, wire.BindPath)
			for key, home := range homes {
				require.Equal(t, home, s.home(0, key), "a known session stays")
				require.Equal(t, home, s.home(1, key), "a known session stays")
			}
			for _, key := range named("new", 6) {
				require.Equal(t, s.home(0, key), s.home(1, key), "%s goes by hash", key)
			}
			eachMissed(4 * 6)
			require.Positive(t, s.meddler.left(wire.ObservePath))
			require.Zero(t, s.meddler.left(wire.BindPath), "nothing is bound blindly")

			s.meddler.hang(wire.BindPath)
			for i, key := range named("unbound", 6) {
				s.home(i, key)
			}
			eachMissed(6)
			require.Positive(t, s.meddler.left(wire.BindPath))

			s.meddler.hang(wire.ObservePath, wire.BindPath, "/v1/sync")
			for key, home := range homes {
				require.Equal(t, home, s.home(0, key), "the fleet stays known")
			}

			s.meddler.hang()
			require.Equal(t, homes, s.settleSlowly(named("known", 6)), "known sessions are where they were")
			s.one.awaitInflight(0)
		})
	}
}

// settleSlowly is settle for short deadlines on a machine that may miss them: turns
// are repeated until both proxies were told of each key.
func (s *sessions) settleSlowly(keys []string) map[string]string {
	s.t.Helper()
	homes := map[string]string{}
	s.one.eventually(func() bool {
		s.settled() // the proxies publish their counters with a sync
		before := s.missed()
		for _, key := range keys {
			homes[key] = s.home(0, key)
			if homes[key] != s.home(1, key) {
				return false
			}
		}
		s.settled()
		return s.missed() == before
	}, "%s", lazy(func() string { return fmt.Sprint("sessions do not settle: ", homes) }))
	return homes
}
