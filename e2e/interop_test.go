package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

const (
	gatewayHeader = "x-gateway-destination-endpoint"
	subsetHeader  = "x-gateway-destination-endpoint-subset"
)

// The filter stands where an inference extension's endpoint picker would: its header
// names the engine, and its subset hint is followed.
func TestInterop_endpoint_picker_headers(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{
				engines: plainEngines(3), filter: anyModels, endpoint: gatewayHeader,
				extra: `"endpoint_header":"` + gatewayHeader + `","subset":{"header":"` + subsetHeader + `"},`,
			})
			engines := r.fleet.Addrs()
			seen := many(30, 3, func(int) string { return r.chatWith().engine() })
			require.Len(t, seen, 3, "without a hint every engine is used")

			for i, address := range engines {
				a := r.chatWith(subsetHeader, address)
				require.Equal(t, http.StatusOK, a.status)
				require.Equal(t, r.engine(i).Name(), a.engine())
			}
			seen = many(20, 3, func(int) string { return r.chatWith(subsetHeader, engines[2]+", "+engines[0]).engine() })
			require.Len(t, seen, 2)
			require.NotContains(t, seen, r.engine(1).Name())

			for _, none := range []string{"", "10.255.0.1:80", "engine-1", strings.Repeat(",", 5000)} {
				r.requireRefused(r.chatWith(subsetHeader, none), 503, "no_healthy_workers")
			}

			// A client's own word for the engine is not followed, and no engine sees ours.
			a := r.chatWith(gatewayHeader, engines[0], subsetHeader, engines[1])
			require.Equal(t, r.engine(1).Name(), a.engine())
			for i := range engines {
				for _, request := range r.engine(i).Requests() {
					require.Empty(t, request.Header.Get(gatewayHeader))
				}
			}
			r.awaitInflight(0)
		})
	}
}

// The hint comes in the host's dynamic metadata, as endpoint pickers get it, and goes
// before a header that a client may have sent.
func TestInterop_subset_in_metadata(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version+"/text", func(t *testing.T) {
			t.Parallel()
			keptByMetadata(t, version, func(addresses []string) any { return strings.Join(addresses, ",") })
		})
		t.Run(version+"/list", func(t *testing.T) {
			t.Parallel()
			keptByMetadata(t, version, func(addresses []string) any { return addresses })
		})
	}
}

func keptByMetadata(t *testing.T, version string, form func(addresses []string) any) {
	t.Helper()
	fleet, err := fakes.StartFleet(plainEngines(3)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	r := &rig{t: t, host: host{version, version, envoytest.OverrideHost}, client: &http.Client{}, fleet: fleet}
	t.Cleanup(r.client.CloseIdleConnections)
	r.state = newState(t, fleet)
	r.state.start()
	r.startProxy(setup{
		filter: anyModels, extra: `"subset":{"metadata":"envoy.lb.subset_hint","header":"` + subsetHeader + `"},`,
		before: []map[string]any{hinting(form(fleet.Addrs()[1:]))},
	})
	r.awaitModels()
	for range 10 {
		a := r.chatWith(subsetHeader, fleet.Addrs()[0])
		require.Contains(t, []string{r.engine(1).Name(), r.engine(2).Name()}, a.engine(), "%d %s", a.status, a.body)
	}
}

// hinting is a filter that leaves a subset hint.
func hinting(addresses any) map[string]any {
	return map[string]any{
		"name": "hint",
		"typed_config": map[string]any{
			"@type":    "type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config",
			"metadata": []any{map[string]any{"metadata_namespace": "envoy.lb.subset_hint", "value": map[string]any{subsetHeader: addresses}}},
		},
	}
}

// llm-d's names for service-level targets order buckets as ours do.
func TestInterop_llmd_targets(t *testing.T) {
	const models = `{"m": {"ttft_slo": "slo_first", "tps_slo": "slo_first", "buckets": [
		{"id": "slow", "limits": {"max": 1000}, "ttft_ms": 2000, "tokens_per_second": 10, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "random"}}}},
		{"id": "fast", "ttft_ms": 200, "tokens_per_second": 50, "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "random"}}}}]}}`
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: plainEngines(2), filter: models, extra: `"slo_headers":"llm_d",`})
			for want, headers := range map[string][][]string{
				"engine-0": {{}, {"x-llm-d-slo-ttft-ms", "3000"}, {"x-llm-d-slo-tpot-ms", "100"}, {"x-sgl-ttft-slo-ms", "500"}},
				"engine-1": {{"x-llm-d-slo-ttft-ms", "500"}, {"x-llm-d-slo-tpot-ms", "20"}},
			} {
				for _, header := range headers {
					require.Equal(t, want, r.chatWith(header...).engine(), "%v", header)
				}
			}
			for _, header := range []string{"x-llm-d-slo-ttft-ms", "x-llm-d-slo-tpot-ms"} {
				for _, bad := range []string{"0", "-1", "1.5", "soon", "9300000000000"} { // field report D22
					r.requireRefused(r.chatWith(header, bad), 400, "bad_request")
				}
			}
		})
	}
}

// A priority that other routers take from a header reaches the engine as the body's own
// member.
func TestInterop_priority(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{
				engines: plainEngines(1), filter: anyModels,
				extra: `"priority":{"header":"x-smg-priority","classes":{"interactive":10,"bulk":-10}},`,
			})
			require.Equal(t, http.StatusOK, r.chatWith("x-smg-priority", "Interactive").status)
			require.Equal(t, http.StatusOK, r.chatWith("x-smg-priority", "-3").status)
			require.Equal(t, http.StatusOK, r.chatWith().status)
			r.requireRefused(r.chatWith("x-smg-priority", "urgent"), 400, "bad_request")
			var seen []string
			for _, request := range r.engine(0).Requests() {
				seen = append(seen, gjson.GetBytes(request.Body, "priority").Raw)
			}
			require.Equal(t, []string{"10", "-3", ""}, seen)
		})
	}
}
