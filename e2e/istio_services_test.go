//go:build istio

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/configs"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Names that Istio gives the clusters of the Services below.
const (
	istioEngines = "outbound|8000||engines.llm.svc.cluster.local"
	istioState   = "outbound|9090||statesvc.llm.svc.cluster.local"
)

// Engines and state service are Kubernetes Services, whose endpoints Istio tells the
// proxy.
func istioServices(t *testing.T, generator string) {
	r := rigWithoutProxy(t, setup{engines: roomyEngines()})
	r.spread()
	listen := envoytest.FreePort(t)
	manifests := r.renderIstio(`"transport_retry": true, "abort": {"cluster": "engines"}, "models": `+twoModels, render.Options{
		Listen: listen, State: "statesvc.llm.svc:9090", Engines: []string{"engines.llm.svc:8000"},
	})
	r.serveIstio(generator, listen, manifests, istioPod+r.services())
	r.awaitModels()
	r.requireRoutedByBody()
	r.requireStripped()
	r.requirePassedOn(true)
	r.requireOverrideHost()
	r.requireCallStream()

	r.engine(0).Stop()
	require.Equal(t, "engine-1", r.chat("other", 100).engine(), "a dead engine is passed over, by the filter's list or by its fleet")
}

// The shipped file serves as it is, but for the place of the module.
func istioShipped(t *testing.T, generator string) {
	r := rigWithoutProxy(t, setup{engines: []fakes.Config{
		{Models: []string{"demo"}, MaxModelLen: 1 << 30},
		{Models: []string{"other"}},
	}})
	r.spread()
	shipped, err := configs.FS.ReadFile("istio/full-mode.yaml")
	require.NoError(t, err)
	const place = "/var/lib/pointsman/filter.wasm"
	require.Contains(t, string(shipped), place)
	manifests := strings.Replace(string(shipped), place, module.Module(t), 1)
	listen := envoytest.FreePort(t)
	r.serveIstio(generator, listen, manifests, istioPod+r.services()+gatewayService(t, listen))
	r.awaitModels()
	r.requireOverrideHost()
	r.requireRefused(r.chat("nobody", 100), 404, "model_not_found")
	// The proxy alone would give the second engine its share.
	require.Equal(t, map[string]int{"engine-0": 40}, many(40, 4, func(int) string { return r.chat("demo", 4000).engine() }))
	require.Equal(t, http.StatusOK, r.chat("demo", 2<<20).status, "above the proxy's own limit")
	require.NotContains(t, r.log(), "routing by headers only")
}

// spread gives every engine an address of its own: Istio knows the endpoints of a
// Service's port by their IP address alone.
func (r *rig) spread() {
	r.t.Helper()
	r.state.stop()
	for i, e := range r.fleet.Engines() {
		e.Stop()
		require.NoError(r.t, e.Start(fmt.Sprintf("127.0.0.%d:0", i+2)))
	}
	r.state = newState(r.t, r.fleet)
	r.state.start()
}

// services are the engines and the state service as Kubernetes tells Istio of them.
func (r *rig) services() string {
	r.t.Helper()
	var text strings.Builder
	text.WriteString(serviceOf("engines", 8000))
	for _, e := range r.fleet.Engines() {
		text.WriteString(sliceOf(r.t, "engines", e.Name(), e.Addr()))
	}
	text.WriteString(serviceOf("statesvc", 9090))
	text.WriteString(sliceOf(r.t, "statesvc", "statesvc", r.state.addr))
	return text.String()
}

// serviceOf is a Service without an IP address of its own. Of others Istio expects
// mutual TLS, and a stock Envoy has nobody who gives it certificates.
func serviceOf(name string, port int) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: llm}
spec: {clusterIP: None, ports: [{name: http, port: %d}]}
`, name, port)
}

// sliceOf is one endpoint of a Service.
func sliceOf(t testing.TB, service, name, addr string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return fmt.Sprintf(`
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, namespace: llm, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
endpoints: [{addresses: [%s], conditions: {ready: true}}]
ports: [{name: http, port: %s, protocol: TCP}]
`, name, service, host, port)
}

// gatewayService leads port 80, which the shipped Gateway names, to the port that the
// proxy listens on. It has no IP address either.
func gatewayService(t testing.TB, listen string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(listen)
	require.NoError(t, err)
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Service
metadata: {name: istio-ingressgateway, namespace: istio-system}
spec: {clusterIP: None, selector: {istio: ingressgateway}, ports: [{name: http2, port: 80, targetPort: %s}]}
`, port)
}

// requireOverrideHost looks at the proxy's own account of the clusters that Istio made.
func (r *rig) requireOverrideHost() {
	r.t.Helper()
	dump, err := r.envoy.Dump()
	require.NoError(r.t, err)
	engines := clusterIn(r.t, dump, istioEngines)
	require.Contains(r.t, engines, "envoy.load_balancing_policies.override_host")
	require.Contains(r.t, engines, "x-pointsman-endpoint")
	require.Contains(r.t, engines, `"type":"EDS"`)
	require.NotContains(r.t, clusterIn(r.t, dump, istioState), "override_host", "the patch is for the engines alone")
}

// clusterIn finds a cluster in a dump, as compact JSON.
func clusterIn(t testing.TB, dump, name string) string {
	t.Helper()
	var doc struct {
		Configs []struct {
			Dynamic []struct {
				Cluster map[string]any `json:"cluster"`
			} `json:"dynamic_active_clusters"`
		} `json:"configs"`
	}
	require.NoError(t, json.Unmarshal([]byte(dump), &doc))
	for _, c := range doc.Configs {
		for _, d := range c.Dynamic {
			if d.Cluster["name"] == name {
				text, err := json.Marshal(d.Cluster)
				require.NoError(t, err)
				return string(text)
			}
		}
	}
	require.FailNow(t, "no such cluster", name)
	return ""
}
