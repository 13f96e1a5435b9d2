package envoygateway_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoygateway"
	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
	"github.com/stretchr/testify/require"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var update = flag.Bool("update", false, "write configs/envoy-gateway")

// The shipped manifests are what is rendered for a shipped configuration.
func TestShipped(t *testing.T) {
	const folder = "../../../configs/"
	text, err := os.ReadFile(folder + "filter/cache-aware.json")
	require.NoError(t, err)
	in, err := render.Read(text, render.Options{EngineService: "engines:8000", Wasm: render.Wasm{URL: "oci://registry.example/pointsman@sha256:" + strings.Repeat("0", 64)}})
	require.NoError(t, err)
	files, err := envoygateway.Render(in)
	require.NoError(t, err)
	for _, f := range files {
		path := folder + "envoy-gateway/" + f.Name
		if *update {
			require.NoError(t, os.WriteFile(path, f.Text, 0o644))
		}
		found, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(f.Text), string(found), "%s; go test ./hostsim/render/envoygateway -update writes it", path)
	}
	there, err := filepath.Glob(folder + "envoy-gateway/*")
	require.NoError(t, err)
	require.Len(t, there, len(files), "files that nobody renders")
}

// The configuration is indented with tabs on purpose: YAML does not take them.
const filter = `{
	"version": 1, "endpoint_mode": "override_host", "max_body_bytes": 1048576,
	"state": {"cluster": "pointsman_state"},
	"models": {"demo": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]}}
}`

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func options() render.Options {
	return render.Options{EngineService: "engines:8000", Wasm: render.Wasm{URL: "https://example.com/filter.wasm", SHA256: sum}}
}

func rendered(t *testing.T, text string, o render.Options) map[kubernetes.Kind]json.RawMessage {
	t.Helper()
	in, err := render.Read([]byte(text), o)
	require.NoError(t, err)
	files, err := envoygateway.Render(in)
	require.NoError(t, err)
	objects := map[kubernetes.Kind]json.RawMessage{}
	for _, f := range files {
		documents, err := render.Documents(f.Text)
		require.NoError(t, err)
		for _, d := range documents {
			kind, err := kubernetes.KindOf(d)
			require.NoError(t, err)
			objects[kind] = d
		}
	}
	return objects
}

// object reads the only document of a kind.
func object[T any](t *testing.T, objects map[kubernetes.Kind]json.RawMessage, kind string) T {
	t.Helper()
	for k, d := range objects {
		if k.Kind == kind {
			var into T
			require.NoError(t, kubernetes.Strict(d, &into))
			return into
		}
	}
	require.Fail(t, "no "+kind)
	panic("unreachable")
}

func TestRender(t *testing.T) {
	objects := rendered(t, filter, options())
	require.Len(t, objects, 8, "no Backend")

	route := object[gwapiv1.HTTPRoute](t, objects, "HTTPRoute")
	require.Equal(t, gwapiv1.Duration("0s"), *route.Spec.Rules[0].Timeouts.Request)
	ref := route.Spec.Rules[0].BackendRefs[0]
	require.Equal(t, gwapiv1.ObjectName("engines"), ref.Name)
	require.Equal(t, gwapiv1.PortNumber(8000), *ref.Port)

	extension := object[egv1a1.EnvoyExtensionPolicy](t, objects, "EnvoyExtensionPolicy")
	wasm := extension.Spec.Wasm[0]
	require.Equal(t, sum, *wasm.Code.HTTP.SHA256)
	require.JSONEq(t, filter, string(wasm.Config.Raw))
	require.Equal(t, "pointsman", *wasm.RootID)

	backend := object[egv1a1.BackendTrafficPolicy](t, objects, "BackendTrafficPolicy")
	require.Equal(t, "x-pointsman-endpoint", *backend.Spec.LoadBalancer.EndpointOverride.ExtractFrom[0].Header)
	require.Zero(t, *backend.Spec.Retry.NumRetries)
	client := object[egv1a1.ClientTrafficPolicy](t, objects, "ClientTrafficPolicy")
	require.Equal(t, int64(2<<20), client.Spec.Connection.BufferLimit.Value())

	patch := object[egv1a1.EnvoyPatchPolicy](t, objects, "EnvoyPatchPolicy")
	require.Len(t, patch.Spec.JSONPatches, 4)
	require.Contains(t, *patch.Spec.JSONPatches[0].Operation.JSONPath, "config.name=='"+*wasm.Name+"'")
	require.Equal(t, "httproute/pointsman/pointsman/rule/0", patch.Spec.JSONPatches[2].Name)
	require.Contains(t, string(patch.Spec.JSONPatches[3].Operation.Value.Raw), "pointsman-state.pointsman.svc.cluster.local")
}

// What a configuration or the flags ask for beyond the usual.
func TestRender_variants(t *testing.T) {
	text := strings.Replace(filter, `"cluster": "pointsman_state"`, `"cluster": "pointsman_state", "token_env": "STATE_TOKEN"`, 1)
	text = strings.Replace(text, `"version": 1,`, `"version": 1, "transport_retry": true, "abort": {"cluster": "engines"},`, 1)
	o := render.Options{
		Namespace: "inference", Engines: []string{"10.0.0.7:8000", "[fd00::7]:8000"}, State: "10.0.0.5:9090",
		Wasm: render.Wasm{URL: "oci://r.example/pointsman@sha256:" + sum},
	}
	objects := rendered(t, text, o)
	backend := object[egv1a1.Backend](t, objects, "Backend")
	require.Equal(t, "fd00::7", backend.Spec.Endpoints[1].IP.Address)
	wasm := object[egv1a1.EnvoyExtensionPolicy](t, objects, "EnvoyExtensionPolicy").Spec.Wasm[0]
	require.Equal(t, "r.example/pointsman@sha256:"+sum, wasm.Code.Image.URL)
	require.Equal(t, sum, *wasm.Code.Image.SHA256)
	require.Equal(t, []string{"STATE_TOKEN"}, wasm.Env.HostKeys)
	require.Contains(t, string(wasm.Config.Raw), "httproute/inference/pointsman/rule/0")
	proxy := object[egv1a1.EnvoyProxy](t, objects, "EnvoyProxy")
	require.Equal(t, "STATE_TOKEN", proxy.Spec.Provider.Kubernetes.EnvoyDeployment.Container.Env[0].Name)
	policy := object[egv1a1.BackendTrafficPolicy](t, objects, "BackendTrafficPolicy")
	require.Equal(t, int32(2), *policy.Spec.Retry.NumRetries)
	patch := object[egv1a1.EnvoyPatchPolicy](t, objects, "EnvoyPatchPolicy")
	require.Equal(t, "inference/pointsman/http", patch.Spec.JSONPatches[0].Name)
	require.Contains(t, string(patch.Spec.JSONPatches[3].Operation.Value.Raw), `"STATIC"`)

	alone := strings.Replace(filter, `"state": {"cluster": "pointsman_state"},`, `"workers": [{"address": "10.0.0.1:1", "models": ["demo"]}],`, 1)
	objects = rendered(t, alone, render.Options{Wasm: options().Wasm})
	require.Len(t, object[egv1a1.EnvoyPatchPolicy](t, objects, "EnvoyPatchPolicy").Spec.JSONPatches, 3)
	require.Equal(t, "10.0.0.1", object[egv1a1.Backend](t, objects, "Backend").Spec.Endpoints[0].IP.Address)
}

// A stream of calls makes the state service's cluster speak HTTP/2.
func TestRender_callStream(t *testing.T) {
	for setting, want := range map[string]string{
		"":                      `{"http_protocol_options":{}}`,
		`, "call_stream": true`: `{"http2_protocol_options":{"connection_keepalive":{"interval":"5s","timeout":"2s"}}}`,
	} {
		text := strings.Replace(filter, `"cluster": "pointsman_state"`, `"cluster": "pointsman_state"`+setting, 1)
		patches := object[egv1a1.EnvoyPatchPolicy](t, rendered(t, text, options()), "EnvoyPatchPolicy").Spec.JSONPatches
		var cluster struct {
			Options map[string]struct {
				Config json.RawMessage `json:"explicit_http_config"`
			} `json:"typed_extension_protocol_options"`
		}
		require.NoError(t, json.Unmarshal(patches[3].Operation.Value.Raw, &cluster))
		require.JSONEq(t, want, string(cluster.Options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"].Config))
	}
}

// The header that names the engine is the configuration's wherever it is read and
// wherever it is removed.
func TestRender_endpointHeader(t *testing.T) {
	const header = "x-gateway-destination-endpoint"
	objects := rendered(t, strings.Replace(filter, `"version": 1,`, `"version": 1, "endpoint_header": "`+header+`",`, 1), options())
	backend := object[egv1a1.BackendTrafficPolicy](t, objects, "BackendTrafficPolicy")
	require.Equal(t, header, *backend.Spec.LoadBalancer.EndpointOverride.ExtractFrom[0].Header)
	client := object[egv1a1.ClientTrafficPolicy](t, objects, "ClientTrafficPolicy")
	require.Contains(t, client.Spec.Headers.EarlyRequestHeaders.Remove, header)
	strip := object[egv1a1.EnvoyPatchPolicy](t, objects, "EnvoyPatchPolicy").Spec.JSONPatches[2]
	require.Contains(t, string(strip.Operation.Value.Raw), `{"remove":"`+header+`"}`)
	for _, d := range objects {
		require.NotContains(t, string(d), "x-pointsman-endpoint")
	}
}

// Everything that Envoy Gateway cannot express is refused at once.
func TestRender_refusals(t *testing.T) {
	original := strings.Replace(filter, "override_host", "original_dst", 1)
	cases := []struct {
		text  string
		o     render.Options
		paths []string
	}{
		{original, render.Options{Namespace: "A", State: "x"}, []string{"--namespace", "endpoint_mode", "--engine-service", "--state", "--wasm-url"}},
		{filter, render.Options{EngineService: "engines.prod:1", Engines: []string{"10.0.0.1:1"}, Wasm: render.Wasm{URL: "file:///a"}}, []string{"--engine-service", "--engine-service", "--wasm-url"}},
		{filter, render.Options{EngineService: "engines:8000", Wasm: render.Wasm{URL: "https://example.com/filter.wasm"}}, []string{"--wasm-sha256"}},
		{filter, render.Options{EngineService: "engines:8000", Wasm: render.Wasm{URL: "http://example.com/filter.wasm"}}, []string{"--wasm-sha256"}},
		{filter, render.Options{Engines: []string{"name:1", "no", "127.0.0.1:1"}, Wasm: render.Wasm{URL: "oci://a", SHA256: "AB"}}, []string{"--engine", "--engine", "--engine", "--wasm-sha256", "--wasm-sha256"}},
	}
	for _, c := range cases {
		in, err := render.Read([]byte(c.text), c.o)
		require.NoError(t, err)
		_, err = envoygateway.Render(in)
		var refusals render.Refusals
		require.ErrorAs(t, err, &refusals)
		var paths []string
		for _, r := range refusals {
			require.NotEmpty(t, r.Instead, r)
			paths = append(paths, r.Path)
		}
		require.ElementsMatch(t, c.paths, paths, err)
	}
}

// Keys with typing errors are found in the API's types and in the patches.
func TestCheck(t *testing.T) {
	patch := func(operation string) string {
		return `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"EnvoyPatchPolicy","spec":{"type":"JSONPatch","targetRef":{"group":"g","kind":"k","name":"n"},"jsonPatches":[` + operation + `]}}`
	}
	const listener, cluster = `"type.googleapis.com/envoy.config.listener.v3.Listener"`, `"type.googleapis.com/envoy.config.cluster.v3.Cluster"`
	for text, says := range map[string]string{
		`{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"Backend","spec":{"endpoint":[]}}`:                                                `unknown field "spec.endpoint"`,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","spec":{"rules":[{"timeout":{}}]}}`:                                     `unknown field "spec.rules[0].timeout"`,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"TCPRoute"}`:                                                                        "no kind that is known here",
		patch(`{"type":` + listener + `,"name":"l","operation":{"op":"add","jsonPath":"a","path":"allow_on_header_stop","value":true}}`):         "allow_on_header_stop",
		patch(`{"type":` + listener + `,"name":"l","operation":{"op":"add","jsonPath":"a","path":"failure_policy","value":"FAIL_SOMEHOW"}}`):     "FAIL_SOMEHOW",
		patch(`{"type":` + cluster + `,"name":"c","operation":{"op":"add","path":"","value":{"nam":"c"}}}`):                                      "nam",
		patch(`{"type":` + cluster + `,"name":"c","operation":{"op":"add","path":"/x","value":[{"name":"f","typed_config":{"@type":"nope"}}]}}`): "nope",
	} {
		require.ErrorContains(t, envoygateway.Check(json.RawMessage(text)), says, text)
	}
}
