//go:build envoygateway

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoygateway"
	"github.com/stretchr/testify/require"
)

// Names that Envoy Gateway gives to what it makes of the manifests.
const (
	gatewayListener = "pointsman/pointsman/http"
	gatewayEngines  = "httproute/pointsman/pointsman/rule/0"
	gatewayWasm     = "envoy.filters.http.wasm/envoyextensionpolicy/pointsman/pointsman/wasm/0"
)

// elsewhere stands for loopback in manifests, where Envoy Gateway takes no such address
// for an engine.
const elsewhere = "192.0.2.1"

const gatewayFilter = `{
  "version": 1,
  "proxy": "gateway",
  "endpoint_mode": "override_host",
  "transport_retry": true,
  "state": {"cluster": "pointsman_state"},
  "models": {
    "a": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
    "b": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]}
  }
}`

// gatewayRig is a fleet and a state service without a proxy, and the manifests for them
// and a filter's configuration.
func gatewayRig(t *testing.T, config string) (*rig, []render.File) {
	t.Helper()
	r := &rig{t: t, host: host{name: "envoy-gateway", version: "1.40.0"}, client: &http.Client{Timeout: 120 * time.Second}}
	t.Cleanup(r.client.CloseIdleConnections)
	var err error
	engine := func(model string) fakes.Config { return fakes.Config{Models: []string{model}, MaxModelLen: 1 << 24} }
	r.fleet, err = fakes.StartFleet(engine("a"), engine("a"), engine("b"))
	require.NoError(t, err)
	t.Cleanup(r.fleet.StopAll)
	r.state = newState(t, r.fleet)
	r.state.start()
	code, err := os.ReadFile(module.Module(t))
	require.NoError(t, err)
	// The module is there for whoever fetches it.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(code) }))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(code)
	var engines []string
	for _, a := range r.fleet.Addrs() {
		engines = append(engines, strings.Replace(a, "127.0.0.1", elsewhere, 1))
	}
	in, err := render.Read([]byte(config), render.Options{
		Engines: engines, State: r.state.addr,
		Wasm: render.Wasm{URL: server.URL + "/filter.wasm", SHA256: hex.EncodeToString(sum[:])},
	})
	require.NoError(t, err)
	files, err := envoygateway.Render(in)
	require.NoError(t, err)
	return r, files
}

// egctl fetches no modules, and a route whose filter is not to be had answers 500: so
// would Envoy Gateway for a module that it cannot fetch.
func TestEnvoyGateway_withoutModule(t *testing.T) {
	_, files := gatewayRig(t, gatewayFilter)
	x := translate(t, files)
	require.NotContains(t, fmt.Sprint(x.manager(t, gatewayListener)["httpFilters"]), "wasm")
	route := at(t, x.routes[gatewayListener], "virtualHosts", 0, "routes", 0).(object)
	require.EqualValues(t, 500, at(t, route, "directResponse", "status"), "egctl fetches modules by now: let the guide say so")
}

// Envoy Gateway's own translator makes of the rest what the manifests are written for.
func TestEnvoyGateway_translates(t *testing.T) {
	_, files := gatewayRig(t, gatewayFilter)
	x := translate(t, withoutExtension(t, files))

	listener := x.listeners[gatewayListener]
	require.EqualValues(t, 34603008, at(t, listener, "perConnectionBufferLimitBytes"))
	manager := x.manager(t, gatewayListener)
	require.Equal(t, "900s", at(t, manager, "streamIdleTimeout"))
	require.Equal(t, "120s", at(t, manager, "requestTimeout"))
	require.Contains(t, fmt.Sprint(at(t, manager, "earlyHeaderMutationExtensions")), "x-pointsman-endpoint")
	require.Equal(t, "0s", at(t, x.routes[gatewayListener], "virtualHosts", 0, "routes", 0, "route", "timeout"))

	engines := x.clusters[gatewayEngines]
	require.Contains(t, fmt.Sprint(at(t, engines, "loadBalancingPolicy")), "header:x-pointsman-endpoint")
	options := at(t, engines, "typedExtensionProtocolOptions", "envoy.extensions.upstreams.http.v3.HttpProtocolOptions").(object)
	require.Equal(t, "4s", at(t, options, "commonHttpProtocolOptions", "idleTimeout"))
	require.Equal(t, "strip", at(t, options, "httpFilters", 0, "name"))
	require.EqualValues(t, 16384, at(t, engines, "circuitBreakers", "thresholds", 0, "maxRequests"))
	require.Equal(t, "STATIC", at(t, x.clusters["pointsman_state"], "type"))
	require.Contains(t, fmt.Sprint(at(t, x.bootstrap, "statsConfig", "statsTags")), "_outcome=")
}

// The shipped manifests, which name a Service, are what Envoy Gateway's CRDs allow.
func TestEnvoyGateway_shipped(t *testing.T) {
	var files []render.File
	for _, name := range []string{"gateway.yaml", "route.yaml", "policies.yaml", "patches.yaml"} {
		text, err := os.ReadFile("../configs/envoy-gateway/" + name)
		require.NoError(t, err)
		files = append(files, render.File{Name: name, Text: text})
	}
	const service = `
apiVersion: v1
kind: Service
metadata: {name: engines, namespace: pointsman}
spec:
  clusterIP: 10.96.0.7
  ports: [{port: 8000, targetPort: 8000, protocol: TCP}]`
	require.Contains(t, translate(t, files, service).listeners, gatewayListener)
	engines := translate(t, withoutExtension(t, files), service).clusters[gatewayEngines]
	require.Contains(t, fmt.Sprint(at(t, engines, "loadBalancingPolicy")), "header:x-pointsman-endpoint")
}

// withoutExtension leaves out the EnvoyExtensionPolicy.
func withoutExtension(t *testing.T, files []render.File) []render.File {
	t.Helper()
	var rest []render.File
	for _, f := range files {
		var documents []string
		for d := range strings.SplitSeq(string(f.Text), "\n---\n") {
			if !strings.Contains(d, "kind: EnvoyExtensionPolicy\n") {
				documents = append(documents, d)
			}
		}
		rest = append(rest, render.File{Name: f.Name, Text: []byte(strings.Join(documents, "\n---\n"))})
	}
	return rest
}

// standIn puts the filter where Envoy Gateway puts it, before the rendered patches are
// applied: disabled in the connection manager, enabled on the route, and without the
// flag. Only the module comes from a file.
func standIn(t *testing.T, config, wasm string) string {
	t.Helper()
	patch := func(kind, path string, value any) object {
		return object{"type": "type.googleapis.com/envoy.config." + kind, "name": gatewayListener, "operation": object{"op": "add", "path": path, "value": value}}
	}
	filter := object{
		"name": gatewayWasm, "disabled": true,
		"typed_config": object{
			"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
			"config": object{
				"name": "pointsman", "root_id": "pointsman",
				"configuration": object{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config},
				"vm_config":     object{"vm_id": "envoyextensionpolicy/pointsman/pointsman/wasm/0", "runtime": "envoy.wasm.runtime.v8", "code": object{"local": object{"filename": wasm}}},
			},
		},
	}
	enabled := object{gatewayWasm: object{"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "config": object{}}}
	text, err := json.Marshal(object{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyPatchPolicy",
		"metadata": object{"name": "stand-in", "namespace": "pointsman"},
		"spec": object{
			"type": "JSONPatch", "priority": -1,
			"targetRef": object{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "pointsman"},
			"jsonPatches": []any{
				patch("listener.v3.Listener", "/default_filter_chain/filters/0/typed_config/http_filters/0", filter),
				patch("route.v3.RouteConfiguration", "/virtual_hosts/0/routes/0/typed_per_filter_config", enabled),
			},
		},
	})
	require.NoError(t, err)
	return string(text)
}

// What Envoy Gateway's translator gives routes by the body on a real Envoy, with the
// filter put where a running Envoy Gateway puts it.
func TestEnvoyGateway_routes(t *testing.T) {
	r := gatewayEnvoy(t, gatewayFilter, "x-pointsman-endpoint")
	page, err := r.envoy.Prometheus()
	require.NoError(t, err)
	require.Regexp(t, `(?m)^pointsman_requests_total\{(.*,)?outcome="routed".*\} \d+$`, page)
	require.NotContains(t, page, "pointsman_header_only_latched_total")
}

// The header that names the engine is the configuration's, everywhere.
func TestEnvoyGateway_endpointHeader(t *testing.T) {
	config := strings.Replace(gatewayFilter, `"version": 1,`, `"version": 1, "endpoint_header": "`+gatewayHeader+`",`, 1)
	gatewayEnvoy(t, config, gatewayHeader)
}

// gatewayEnvoy runs an Envoy with what the translator gives for a configuration, and
// requires that it routes by the endpoint header.
func gatewayEnvoy(t *testing.T, config, endpoint string) *rig {
	t.Helper()
	r, files := gatewayRig(t, config)
	x := translate(t, withoutExtension(t, files), standIn(t, config, module.Module(t)))
	plugin := at(t, x.manager(t, gatewayListener), "httpFilters", 0, "typedConfig", "config").(object)
	require.Equal(t, true, at(t, plugin, "allowOnHeadersStopIteration"), "the rendered patch finds the filter")
	require.Equal(t, "FAIL_RELOAD", at(t, plugin, "failurePolicy"))

	addr, admin := envoytest.FreePort(t), envoytest.FreePort(t)
	r.envoy = envoytest.StartBare(t, r.host.version, x.standalone(t, gatewayListener, addr, admin), addr, admin)
	r.url, r.log = r.envoy.URL(), r.envoy.Log
	r.awaitModels()
	r.requireGatewayRoutes(endpoint)
	return r
}
