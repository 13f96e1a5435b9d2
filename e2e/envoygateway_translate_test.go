//go:build envoygateway

package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/stretchr/testify/require"
)

// object is a JSON object; members are reached by at.
type object = map[string]any

// at follows keys and indexes through objects and lists.
func at(t testing.TB, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(object)
			require.True(t, ok, "no object before %v", path[:i+1])
			v, ok = m[step]
			require.True(t, ok, "no %v among %v", path[:i+1], slices.Sorted(maps.Keys(m)))
		case int:
			list, ok := v.([]any)
			require.True(t, ok && step < len(list), "no %v", path[:i+1])
			v = list[step]
		}
	}
	return v
}

// translation is what egctl makes of manifests, by the names of the resources.
type translation struct {
	bootstrap                              object
	listeners, routes, clusters, endpoints map[string]object
}

// translate runs egctl over manifests.
func translate(t testing.TB, files []render.File, further ...string) translation {
	t.Helper()
	var all []string
	for _, f := range files {
		all = append(all, string(f.Text))
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(append(all, further...), "\n---\n")), 0o600))
	egctl := os.Getenv("EGCTL")
	require.NotEmpty(t, egctl, "run make e2e-envoy-gateway, which installs egctl and names it")
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(egctl, "x", "translate", "--from", "gateway-api", "--to", "xds", "--type", "all", "--output", "json", "--file", file)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", &stderr)
	var result struct{ XDS map[string]object }
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &result), "%s", &stdout)
	require.Len(t, result.XDS, 1)
	var x translation
	for _, dump := range result.XDS {
		x = readDump(t, dump)
	}
	return x
}

// readDump sorts the parts of a config dump.
func readDump(t testing.TB, dump object) translation {
	t.Helper()
	x := translation{listeners: map[string]object{}, routes: map[string]object{}, clusters: map[string]object{}, endpoints: map[string]object{}}
	each := func(config any, list, member string, into map[string]object, name string) {
		entries, _ := config.(object)[list].([]any)
		for _, e := range entries {
			if member == "listener" {
				e = at(t, e, "activeState")
			}
			resource := at(t, e, member).(object)
			into[at(t, resource, name).(string)] = resource
		}
	}
	for _, config := range at(t, dump, "configs").([]any) {
		switch kind := at(t, config, "@type").(string); kind[strings.LastIndex(kind, ".")+1:] {
		case "BootstrapConfigDump":
			x.bootstrap = at(t, config, "bootstrap").(object)
		case "ListenersConfigDump":
			each(config, "dynamicListeners", "listener", x.listeners, "name")
		case "RoutesConfigDump":
			each(config, "dynamicRouteConfigs", "routeConfig", x.routes, "name")
		case "ClustersConfigDump":
			each(config, "dynamicActiveClusters", "cluster", x.clusters, "name")
		case "EndpointsConfigDump":
			each(config, "dynamicEndpointConfigs", "endpointConfig", x.endpoints, "clusterName")
		}
	}
	return x
}

// manager is the connection manager of the gateway's listener.
func (x translation) manager(t testing.TB, listener string) object {
	t.Helper()
	return at(t, x.listeners[listener], "defaultFilterChain", "filters", 0, "typedConfig").(object)
}

// standalone makes a bootstrap of a translation: what would come over the control
// plane's connection stands in it, and it listens on loopback.
func (x translation) standalone(t testing.TB, listener, addr, admin string) []byte {
	t.Helper()
	manager := x.manager(t, listener)
	delete(manager, "rds")
	manager["routeConfig"] = x.routes[listener]
	x.listeners[listener]["address"] = socket(t, addr)
	clusters := []any{}
	for name, c := range x.clusters {
		if c["type"] == "EDS" {
			delete(c, "edsClusterConfig")
			c["type"], c["loadAssignment"] = "STATIC", x.endpoints[name]
		}
		clusters = append(clusters, c)
	}
	config, err := json.Marshal(object{
		"admin":           object{"address": socket(t, admin)},
		"node":            object{"id": "test", "cluster": "test"},
		"statsConfig":     x.bootstrap["statsConfig"],
		"layeredRuntime":  x.bootstrap["layeredRuntime"],
		"staticResources": object{"listeners": []any{x.listeners[listener]}, "clusters": clusters},
	})
	require.NoError(t, err)
	return bytes.ReplaceAll(untyped(config), []byte(`"`+elsewhere+`"`), []byte(`"127.0.0.1"`))
}

// untyped takes away the type that resources have in a dump and not in a bootstrap.
func untyped(config []byte) []byte {
	for _, kind := range []string{"config.listener.v3.Listener", "config.cluster.v3.Cluster", "config.route.v3.RouteConfiguration", "config.endpoint.v3.ClusterLoadAssignment"} {
		config = bytes.ReplaceAll(config, []byte(`"@type":"type.googleapis.com/envoy.`+kind+`",`), nil)
	}
	return config
}

func socket(t testing.TB, addr string) object {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return object{"socketAddress": object{"address": host, "portValue": n}}
}
