package e2e

import (
	"net/http"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cache_aware with the state service's index routes whether or not the service can
// answer for a model: what is unavailable is no error, and neither is a service
// that is away.
func TestCacheAware_routes_without_an_answer(t *testing.T) {
	const models = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "min_matched_tokens": 0}}}}]}}`
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 4), filter: models})
			r.awaitWorkers()
			spread := func() {
				t.Helper()
				statuses := many(40, 4, func(int) string {
					a := r.chat("m", 400)
					return http.StatusText(a.status)
				})
				require.Equal(t, map[string]int{"OK": 40}, statuses)
			}
			spread()
			r.state.stop()
			spread()
		})
	}
}
