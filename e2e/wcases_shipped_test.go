package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/pointsman/pointsman/configs"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

// shipped decodes the bootstraps that people copy.
func shipped(t *testing.T) map[envoytest.Bootstrap]any {
	t.Helper()
	docs := map[envoytest.Bootstrap]any{}
	for _, name := range []envoytest.Bootstrap{envoytest.OverrideHost, envoytest.OriginalDst} {
		source, err := configs.FS.ReadFile("envoy/" + string(name) + ".yaml")
		require.NoError(t, err)
		var doc any
		require.NoError(t, yaml.Unmarshal(source, &doc))
		docs[name] = doc
	}
	return docs
}

// walk visits every member of a document by its path.
func walk(path string, node any, visit func(path string, node any)) {
	visit(path, node)
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			walk(path+"/"+key, value, visit)
		}
	case []any:
		for _, value := range n {
			walk(path, value, visit)
		}
	}
}

// values collects what stands at paths that end so.
func values(doc any, suffix string) (found []any) {
	walk("", doc, func(path string, node any) {
		if strings.HasSuffix(path, suffix) {
			found = append(found, node)
		}
	})
	return found
}

// W19: a route that removes headers does so before the host is chosen.
func TestW19_routes_remove_no_headers(t *testing.T) {
	for name, doc := range shipped(t) {
		require.Empty(t, values(doc, "request_headers_to_remove"), name)
		require.NotEmpty(t, values(doc, "/http_filters/typed_config/mutations/request_mutations/remove"), "%s: the cluster removes them", name)
	}
}

// W24: the filter's own deadline for bodies ends before the host's timer for
// idle streams, and that before a minute of margin.
func TestW24_body_deadline_is_below_the_idle_timeout(t *testing.T) {
	for name, doc := range shipped(t) {
		idle, err := time.ParseDuration(one(t, doc, "/stream_idle_timeout").(string))
		require.NoError(t, err)
		var raw json.RawMessage = []byte(one(t, doc, "/config/configuration/value").(string))
		cfg, err := spec.Decode(raw)
		require.NoError(t, err)
		cfg = spec.Defaults(cfg)
		body := time.Duration(*cfg.BodyTimeoutMillis) * time.Millisecond
		require.Less(t, body+time.Minute, idle, name)
	}
}

// W26: an idle connection to an engine is closed by Envoy, before uvicorn closes
// it at 5 s under a request.
func TestW26_connections_idle_less_than_uvicorns(t *testing.T) {
	for name, doc := range shipped(t) {
		clusters := one(t, doc, "/static_resources/clusters").([]any)
		for _, c := range clusters {
			if one(t, c, "/name") == "pointsman_state" {
				continue
			}
			idle, err := time.ParseDuration(one(t, c, "/common_http_protocol_options/idle_timeout").(string))
			require.NoError(t, err)
			require.Less(t, idle, 5*time.Second, name)
		}
	}
}

// one gives what stands first at a path that ends so.
func one(t *testing.T, doc any, suffix string) any {
	t.Helper()
	found := values(doc, suffix)
	require.NotEmpty(t, found, suffix)
	return found[0]
}
