//go:build envoygateway

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/stretchr/testify/require"
)

// gatewayServer is an Envoy Gateway that reads manifests from a folder and runs an Envoy
// on this machine.
type gatewayServer struct {
	binary, folder string
	log            syncBuilder
}

// newGateway makes the folder and the certificates of an Envoy Gateway.
func newGateway(t *testing.T) *gatewayServer {
	t.Helper()
	s := &gatewayServer{binary: os.Getenv("ENVOY_GATEWAY"), folder: t.TempDir()}
	require.NotEmpty(t, s.binary, "run make e2e-envoy-gateway, which installs Envoy Gateway and names it")
	output, err := exec.Command(s.binary, "certgen", "--local", "--config-home", s.path("config")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return s
}

// start runs it over manifests until the test ends. Its ports are fixed (18000 to 18002
// and 19000 to 19003), so there is one at a time.
func (s *gatewayServer) start(t *testing.T, version string, manifests ...string) {
	t.Helper()
	s.write(t, "manifests/all.yaml", strings.Join(append(manifests, s.secret(t)), "\n---\n"))
	s.write(t, "gateway.yaml", fmt.Sprintf(`
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [%[1]s/manifests]}}
    infrastructure:
      type: Host
      host: {configHome: %[1]s/config, dataHome: %[1]s/data, stateHome: %[1]s/state, runtimeDir: %[1]s/run}
extensionApis: {enableBackend: true, enableEnvoyPatchPolicy: true}
`, s.folder))
	// Where it looks before it would download one.
	envoy := s.path("data/envoy-versions/" + version + "/bin/envoy")
	require.NoError(t, os.MkdirAll(filepath.Dir(envoy), 0o750))
	require.NoError(t, os.Symlink(envoytest.Binary(t, version), envoy))
	s.run(t)
}

func (s *gatewayServer) path(name string) string { return filepath.Join(s.folder, name) }

func (s *gatewayServer) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.path(name)), 0o750))
	require.NoError(t, os.WriteFile(s.path(name), []byte(text), 0o600))
}

// run starts the process. Told to end, it ends its Envoy first.
func (s *gatewayServer) run(t *testing.T) {
	t.Helper()
	cmd := exec.Command(s.binary, "server", "--config-path", s.path("gateway.yaml"))
	cmd.Env = append(os.Environ(), "HOME="+s.folder)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
}

// secret is the certificate with which Envoy fetches the module from Envoy Gateway; in a
// cluster it is there.
func (s *gatewayServer) secret(t *testing.T) string {
	t.Helper()
	data := object{}
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		text, err := os.ReadFile(s.path("config/certs/envoy/" + name))
		require.NoError(t, err)
		data[name] = base64.StdEncoding.EncodeToString(text)
	}
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data,
		"metadata": object{"name": "envoy", "namespace": "envoy-gateway-system"},
	})
	require.NoError(t, err)
	return string(text)
}

// onThisMachine changes what only a cluster has: the port and address of the listener,
// who runs Envoy, where Envoy Gateway serves the module, and the engines' address.
func onThisMachine(t *testing.T, files []render.File, addr, authority string) []string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	var manifests []string
	for _, f := range files {
		text := strings.Replace(string(f.Text), "      port: 80\n", "      port: "+port+"\n", 1)
		text = strings.Replace(text, "  bootstrap:\n", "  concurrency: 1\n  provider: {type: Host, host: {envoyVersion: 1.40.0}}\n  bootstrap:\n", 1)
		manifests = append(manifests, text)
	}
	replace := func(kind, name, jsonPath, value string) object {
		return object{"type": "type.googleapis.com/envoy.config." + kind, "name": name, "operation": object{"op": "replace", "jsonPath": jsonPath, "value": value}}
	}
	local, err := json.Marshal(object{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyPatchPolicy",
		"metadata": object{"name": "this-machine", "namespace": "pointsman"},
		"spec": object{
			"type": "JSONPatch", "priority": 5,
			"targetRef": object{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "pointsman"},
			"jsonPatches": []any{
				replace("listener.v3.Listener", gatewayListener, "$.address.socket_address.address", "127.0.0.1"),
				replace("cluster.v3.Cluster", "wasm_cluster", "..socket_address.address", "127.0.0.1"),
				replace("cluster.v3.Cluster", "wasm_cluster", "..trusted_ca.filename", authority),
				replace("endpoint.v3.ClusterLoadAssignment", gatewayEngines, "..socket_address.address", "127.0.0.1"),
			},
		},
	})
	require.NoError(t, err)
	return append(manifests, string(local))
}

// Envoy Gateway itself, without a cluster: it fetches the module, checks its sum, serves
// it to the Envoy that it runs, and applies the rendered patches.
func TestEnvoyGateway_runs(t *testing.T) {
	r, files := gatewayRig(t, gatewayFilter)
	addr := envoytest.FreePort(t)
	s := newGateway(t)
	s.start(t, r.host.version, onThisMachine(t, files, addr, s.path("config/certs/envoy/ca.crt"))...)
	r.url, r.log = "http://"+addr, s.log.String
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}, 120*time.Second, 100*time.Millisecond, "no listener:\n%s", lazy(r.log))
	r.awaitModels()
	r.requireGatewayRoutes("x-pointsman-endpoint")
	require.NotContains(t, s.log.String(), "Failed to process JSON patches")
	require.NotContains(t, s.log.String(), "routing by headers only")
}

// requireGatewayRoutes sends requests for two models and what must be refused. The
// header that names the engine is the filter's alone: what clients say in it is not
// followed, and engines do not see it.
func (r *rig) requireGatewayRoutes(endpoint string) {
	r.t.Helper()
	header := jsonHeader()
	header.Set(endpoint, r.engine(0).Addr())
	for range 20 {
		a := r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("b", 100)))
		require.Equal(r.t, http.StatusOK, a.status, a.body)
		require.Equal(r.t, r.engine(2).Name(), a.engine(), "the only engine of model b")
		require.NotEqual(r.t, r.engine(2).Name(), r.chat("a", 100).engine())
	}
	large := r.chat("b", 32<<20-1024)
	require.Equal(r.t, http.StatusOK, large.status, "%.300s", large.body)
	require.Equal(r.t, r.engine(2).Name(), large.engine())
	over := r.chat("b", 33<<20)
	require.Equal(r.t, http.StatusRequestEntityTooLarge, over.status)
	require.Equal(r.t, "payload_too_large", over.code(), "the filter's own answer, not Envoy's")
	require.Equal(r.t, "model_not_found", r.chat("c", 10).code())
	for i := range 3 {
		for _, seen := range r.engine(i).Requests() {
			require.Empty(r.t, seen.Header.Values(endpoint))
		}
	}
}
