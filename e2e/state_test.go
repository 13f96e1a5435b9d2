package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const allModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}`

func plainEngines(n int) []fakes.Config {
	return fakes.Replicate(fakes.Config{Models: []string{"m"}, MaxModelLen: 1 << 20}, n)
}

// Nobody notices that the state service is away; when it is back, what it says
// counts again.
func TestStateService_comes_and_goes(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: plainEngines(2), filter: allModels, extra: `"transport_retry":true,`})
			r.state.stop()
			counts := many(100, 4, func(int) string { return r.chat("m", 50).engine() })
			require.Equal(t, map[string]int{"engine-0": 50, "engine-1": 50}, counts)
			r.eventually(func() bool { return strings.Contains(r.log(), "state service cannot be reached") }, "the filter says nothing")

			r.state.start()
			r.eventually(func() bool { return strings.Contains(r.log(), "state service answers again") }, "the filter does not return")
			r.fleet.Engines()[1].Stop()
			r.eventually(func() bool { return !r.state.workers()["engine-1"].Healthy }, "the engine is not found down")
			r.eventually(func() bool {
				first, second := r.chat("m", 50).engine(), r.chat("m", 50).engine()
				return first == "engine-0" && second == "engine-0"
			}, "the filter does not learn that an engine is down")
			require.Equal(t, map[string]int{"engine-0": 50}, many(50, 4, func(int) string { return r.chat("m", 50).engine() }))
		})
	}
}

// A proxy that never saw the state service refuses or leaves the choice to its
// host, as told.
func TestStateService_never_seen(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name+"/reject", func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: plainEngines(2), filter: allModels, noState: true})
			r.requireRefused(r.chat("m", 50), 503, "state_unavailable")
			r.requireRefused(r.get("/v1/models"), 503, "state_unavailable")
			r.state.start()
			r.awaitModels()
			r.requireRefused(r.post(`{"model":"other"}`), 404, "model_not_found")
			require.Equal(t, http.StatusOK, r.chat("m", 50).status)
		})
		t.Run(h.name+"/host", func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: plainEngines(2), filter: allModels, noState: true, extra: `"on_no_state":"host",`})
			require.Equal(t, http.StatusOK, r.chat("m", 50).status)
		})
	}
}
