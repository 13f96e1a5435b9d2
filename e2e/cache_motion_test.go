package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
)

// What becomes of requests when engines are cold, busy or new, before one proxy. What was
// sent counts longer than a busy machine takes for a burst.
func TestCache_engines_in_motion(t *testing.T) {
	engines := caching(fakes.VLLM, 4)
	models := burstModels(t)
	for i := range engines {
		engines[i].Models = slices.Sorted(maps.Keys(models))
		engines[i].Slots, engines[i].KVBlocks, engines[i].DecodePerToken = 8, 1<<14, 5*time.Millisecond
	}
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := caches(t, h, cacheModels(models), engines, `,"pending_prefix_ms":60000`)
			for _, part := range []struct {
				name string
				run  func(*rig)
			}{
				{"a burst is computed by few", cacheBurst},
				{"requests leave a full engine and come back", cacheFull},
				{"a restart forgets at once", cacheRestart},
			} {
				t.Run(part.name, func(t *testing.T) {
					inner := *r
					inner.t = t
					part.run(&inner)
				})
			}
		})
	}
}
