package doctor

import (
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// pauseField is the header-pause flag as it stands at the end of a patch's path.
const pauseField = "/allow_on_headers_stop_iteration"

// patch applies one JSON patch of an EnvoyPatchPolicy, as far as it concerns the filter:
// resources added whole, filters, the header-pause flag, and the listener's limit.
func (r *gatewayReader) patch(at tree.At) {
	operation := at.Get("operation")
	op, path, value := operation.Get("op").Text(), operation.Get("path").Text(), operation.Get("value")
	if op != "add" && op != "replace" {
		return
	}
	switch kind := at.Get("type").Text(); {
	case strings.HasSuffix(kind, ".Cluster") && (path == "" || path == "/"):
		r.addCluster(value)
	case strings.HasSuffix(kind, ".Cluster"):
		r.clusterPatch(at, path, value)
	case strings.HasSuffix(kind, ".Listener"):
		r.listenerPatch(path, operation)
	case strings.HasSuffix(kind, ".RouteConfiguration"):
		if strings.Contains(path, "request_headers_to_remove") {
			r.chain.removes = append(r.chain.removes, append(value.Items(), value)...)
		}
	}
}

func (r *gatewayReader) listenerPatch(path string, operation tree.At) {
	value := operation.Get("value")
	whole := path + operation.Get("jsonPath").Text()
	switch {
	case strings.HasSuffix(path, pauseField) || strings.HasSuffix(path, "/allowOnHeadersStopIteration"):
		r.pause(value)
	case path == "/per_connection_buffer_limit_bytes" || path == "/perConnectionBufferLimitBytes":
		r.listener.buffer = numberAt(value, r.listener.buffer.value)
	case strings.HasSuffix(path, "/stream_idle_timeout"):
		r.chain.idle = spanAt(value, r.chain.idle.value)
	case strings.Contains(whole, "http_filters") && value.Get("typed_config").Exists():
		r.insert(r.filter(value))
	case value.Get("allow_on_headers_stop_iteration").Exists():
		r.pause(value.Get("allow_on_headers_stop_iteration"))
	}
}

// pause sets the header-pause flag of the filter. A patch names it by its place in the
// chain that Envoy Gateway makes, which is not known here.
func (r *gatewayReader) pause(value tree.At) {
	for _, f := range r.chain.filters {
		if f.plugin != nil {
			f.plugin.canPause, f.plugin.pause, f.plugin.pauseAt = true, value.True(), value
		}
	}
}

// clusterPatch sets one field of a cluster.
func (r *gatewayReader) clusterPatch(at tree.At, path string, value tree.At) {
	c := r.proxy.cluster(at.Get("name").Text())
	if c == nil {
		return
	}
	if keys := strings.Split(strings.TrimPrefix(path, "/"), "/"); len(keys) == 1 {
		wrapped := &tree.Node{Kind: tree.Map, Line: value.Line, Fields: []tree.Field{{Key: keys[0], Line: value.Line, Value: value.Node}}}
		c.patch(tree.At{File: value.File, Path: value.Path, Line: value.Line, Node: wrapped})
	}
}
