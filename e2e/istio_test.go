//go:build istio

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/istio"
)

// istioEnvoy is the Envoy that stands for the gateway's proxy.
const istioEnvoy = "1.40.0"

// istioPod is the gateway's pod, by which Istio finds the labels that selectors want.
const istioPod = `apiVersion: v1
kind: Pod
metadata: {name: gw, namespace: istio-system, labels: {istio: ingressgateway}}
spec: {containers: [{name: istio-proxy, image: proxy}]}
status: {podIP: 127.0.0.1, phase: Running, conditions: [{type: Ready, status: "True"}]}
`

// forStockEnvoy takes out what only Istio's own build of Envoy has, and keeps listeners
// to the loopback interface.
const forStockEnvoy = `---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: stock-envoy, namespace: istio-system}
spec:
  workloadSelector: {labels: {istio: ingressgateway}}
  configPatches:
  - applyTo: HTTP_FILTER
    match:
      context: GATEWAY
      listener: {filterChain: {filter: {name: envoy.filters.network.http_connection_manager, subFilter: {name: istio.alpn}}}}
    patch: {operation: REMOVE}
  - applyTo: LISTENER
    match: {context: GATEWAY}
    patch: {operation: MERGE, value: {address: {socket_address: {address: 127.0.0.1}}}}
`

// istioBootstrap is a stock Envoy that asks a control plane for everything, as the
// proxy of the pod above.
const istioBootstrap = `
node:
  id: router~127.0.0.1~gw.istio-system~istio-system.svc.cluster.local
  cluster: gw.istio-system
  metadata: {INSTANCE_IPS: "127.0.0.1", ISTIO_VERSION: 1.31.0, NAMESPACE: istio-system, NAME: gw, LABELS: {istio: ingressgateway}, CLUSTER_ID: Kubernetes, MESH_ID: m, GENERATOR: "", PROXY_CONFIG: {}}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}
dynamic_resources:
  ads_config: {api_type: GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: istiod}}]}
  cds_config: {ads: {}, resource_api_version: V3}
  lds_config: {ads: {}, resource_api_version: V3}
static_resources:
  clusters:
  - name: istiod
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http2_protocol_options: {}}}}
    load_assignment: {cluster_name: istiod, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}}]}]}
`

// Rendered and shipped manifests, through Istio's generator into a stock Envoy.
func TestIstio_manifests(t *testing.T) {
	generator := buildIstio(t)
	t.Run("full mode", func(t *testing.T) { istioFullMode(t, generator) })
	t.Run("header only", func(t *testing.T) { istioHeaderOnly(t, generator) })
	t.Run("Services", func(t *testing.T) { istioServices(t, generator) })
	t.Run("shipped file", func(t *testing.T) { istioShipped(t, generator) })
}

// Bodies decide, up to the largest.
func istioFullMode(t *testing.T, generator string) {
	r := rigWithoutProxy(t, setup{engines: roomyEngines()})
	r.startIstio(generator, `"transport_retry": true, "abort": {"cluster": "engines"}, "models": `+twoModels, false)
	r.awaitModels()
	r.requireRoutedByBody()
	r.requireStripped()
	r.requirePassedOn(true)
	dump, err := r.envoy.Dump()
	require.NoError(t, err)
	require.Contains(t, dump, `"allow_on_headers_stop_iteration": true`)
	require.Contains(t, dump, `"per_connection_buffer_limit_bytes": 34603008`)
	r.requireCallStream()

	r.engine(0).Stop()
	require.Equal(t, "engine-1", r.chat("other", 100).engine(), "a dead engine is passed over, by the filter's list or by its fleet")
}

// A plain WasmPlugin arrives by discovery and decides from headers.
func istioHeaderOnly(t *testing.T, generator string) {
	r := rigWithoutProxy(t, setup{engines: roomyEngines()})
	r.startIstio(generator, `"models": `+strings.Replace(twoModels, `"m": {`, `"m": {"tokens": "estimate", `, 1), true)
	r.awaitModels()
	send := func(model string, promptBytes int) answer {
		header := jsonHeader()
		if model != "" {
			header.Set("X-Pointsman-Model", model)
		}
		return r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("m", promptBytes)))
	}
	for range 3 {
		require.Equal(t, "engine-0", send("m", 100).engine())
		require.Equal(t, "engine-1", send("m", 4000).engine())
	}
	r.requireRefused(send("", 100), 400, "bad_request")
	r.requireRefused(send("nobody", 100), 404, "model_not_found")
	require.Contains(t, r.log(), "routing by headers only")
	dump, err := r.envoy.Dump()
	require.NoError(t, err)
	require.Contains(t, dump, "EcdsConfigDump")
	require.NotContains(t, dump, "allow_on_headers_stop_iteration")
	for _, e := range r.fleet.Engines() {
		for _, request := range e.Requests() {
			require.Empty(t, request.Header.Get("X-Pointsman-Model"))
		}
	}
}

// startIstio renders manifests for the rig's addresses and puts Istio and an Envoy in
// front.
func (r *rig) startIstio(generator, filter string, headerOnly bool) {
	r.t.Helper()
	listen := envoytest.FreePort(r.t)
	manifests := r.renderIstio(filter, render.Options{
		Listen: listen, State: r.state.addr, Engines: r.fleet.Addrs(), HeaderOnly: headerOnly,
	})
	r.serveIstio(generator, listen, manifests, istioPod)
}

// renderIstio renders manifests for the gateway's pod and the module of this checkout.
func (r *rig) renderIstio(filter string, o render.Options) string {
	r.t.Helper()
	o.Wasm, o.Namespace, o.Selector = render.Wasm{Path: module.Module(r.t)}, "istio-system", map[string]string{"istio": "ingressgateway"}
	in, err := render.Read([]byte(`{"version": 1, "proxy": "e2e", "state": {"cluster": "pointsman_state", "call_stream": true}, `+filter+`}`), o)
	require.NoError(r.t, err)
	files, err := istio.Render(in)
	require.NoError(r.t, err)
	return string(files[0].Text)
}

// requireCallStream waits for the stream of calls, which needs HTTP/2, and looks for the
// pings that a DestinationRule cannot ask for.
func (r *rig) requireCallStream() {
	r.t.Helper()
	r.eventually(func() bool { return r.counter("pointsman_call_streams_total_outcome=opened") > 0 }, "no stream to the state service")
	dump, err := r.envoy.Dump()
	require.NoError(r.t, err)
	require.Contains(r.t, dump, `"connection_keepalive"`)
}

// serveIstio puts an Envoy in front that gets everything from Istio's generator.
func (r *rig) serveIstio(generator, listen, manifests, objects string) {
	r.t.Helper()
	admin := envoytest.FreePort(r.t)
	istiod := runIstio(r.t, generator, manifests+forStockEnvoy, objects)
	_, adminPort, err := net.SplitHostPort(admin)
	require.NoError(r.t, err)
	_, istiodPort, err := net.SplitHostPort(istiod)
	require.NoError(r.t, err)
	given := envoytest.Given{Version: istioEnvoy, Config: fmt.Appendf(nil, istioBootstrap, adminPort, istiodPort), Listen: listen, Admin: admin}
	r.envoy = given.Start(r.t)
	r.url, r.log = r.envoy.URL(), r.envoy.Log
}

// buildIstio builds the command of the module e2e/istio and gives its path.
func buildIstio(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "istio")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(envoytest.Root(t), "e2e", "istio")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}

// runIstio runs the generator with manifests and Kubernetes objects, and gives the
// address that it serves them at.
func runIstio(t testing.TB, generator, manifests, objects string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, generator, "-manifests", write("manifests.yaml", manifests), "-objects", write("objects.yaml", objects))
	cmd.Env = append(os.Environ(), "PILOT_ENABLE_METADATA_EXCHANGE=false")
	log := &syncBuilder{}
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		timer := time.AfterFunc(10*time.Second, cancel)
		_ = cmd.Wait()
		timer.Stop()
		cancel()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return address
		}
		fmt.Fprintln(log, lines.Text())
	}
	require.FailNow(t, "Istio's generator does not serve", "%s", log)
	return ""
}
