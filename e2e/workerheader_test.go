package e2e

import (
	"net/http"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// Engines that say themselves which worker they are.
var boasting = fakes.Config{Models: []string{"m"}, Headers: map[string]string{"X-Pointsman-Worker": "the-best"}}

const anyModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}`

// Clients are told the engine that answered, by the router and by nobody else.
func TestWorkerHeader_is_the_routers_word(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(boasting, 3), filter: anyModels, extra: `"worker_header":true,`})
			for range 6 {
				a := r.chat("m", 20)
				require.Equal(t, http.StatusOK, a.status)
				require.Equal(t, []string{a.engine()}, a.header.Values("x-pointsman-worker"))
			}
			a := r.post(`{"model":"m","messages":[],"max_tokens":1}`)
			require.Equal(t, http.StatusBadRequest, a.status, "an engine's error")
			require.NotEmpty(t, a.engine())
			require.Equal(t, a.engine(), a.worker())
			a = r.get("/version")
			require.Empty(t, a.worker(), "not routed, from %s", a.engine())
			require.Empty(t, r.post(`{"model":"other"}`).worker())
		})
	}
}

// Off, the header is the engines' own business.
func TestWorkerHeader_off(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(boasting, 2), filter: anyModels})
			require.Equal(t, "the-best", r.chat("m", 20).worker())
		})
	}
}

// The host's retry moves a request to an engine that lives.
func TestWorkerHeader_follows_a_retry(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{
				engines: fakes.Replicate(boasting, 4), filter: anyModels,
				extra: `"worker_header":true,"transport_retry":true,"breaker":{"threshold":100},`,
			})
			r.state.stop() // so that nobody tells the filter
			r.engine(0).Stop()
			for range 12 {
				a := r.chat("m", 20)
				require.Equal(t, http.StatusOK, a.status)
				require.NotEmpty(t, a.engine())
				require.NotEqual(t, r.engine(0).Name(), a.engine())
				require.Equal(t, a.engine(), a.worker())
			}
		})
	}
}
