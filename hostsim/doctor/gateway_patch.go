package doctor

import (
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// patch applies one JSON patch of an EnvoyPatchPolicy, as far as it concerns the filter:
// resources added whole, filters, the header-pause flag, and the listener's limit.
func (r *gatewayReader) patch(o manifest, at tree.At) {
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
		if r.listenerHere(o, at) {
			r.listenerPatch(path, operation)
		}
	case strings.HasSuffix(kind, ".RouteConfiguration"):
		if strings.Contains(path, "request_headers_to_remove") {
			r.chain.removes = append(r.chain.removes, append(value.Items(), value)...)
		}
	}
}

// listenerPatch applies a patch of a listener. Its place is in path, or in path below
// what jsonPath finds.
func (r *gatewayReader) listenerPatch(path string, operation tree.At) {
	value := operation.Get("value")
	find := operation.Get("jsonPath")
	switch field := path[strings.LastIndex(path, "/")+1:]; field {
	case "allow_on_headers_stop_iteration", "allowOnHeadersStopIteration":
		if !r.pluginField(operation, field) {
			return
		}
		r.eachPatched(find, func(f *filter) { f.plugin.canPause, f.plugin.pause, f.plugin.pauseAt = true, value.True(), value })
	case "failure_policy", "failurePolicy":
		if !r.pluginField(operation, field) {
			return
		}
		r.eachPatched(find, func(f *filter) { f.plugin.failure, f.plugin.failureAt = failureOf(value), value })
	case "disabled":
		r.eachPatched(find, func(f *filter) { f.disabled = value })
	case "per_connection_buffer_limit_bytes", "perConnectionBufferLimitBytes":
		r.listener.buffer = numberAt(value, r.listener.buffer.value)
	case "stream_idle_timeout", "streamIdleTimeout":
		r.chain.idle = spanAt(value, r.chain.idle.value)
	default:
		if strings.Contains(path+find.Text(), "http_filters") && value.Get("typed_config").Exists() {
			r.insert(r.filter(value))
		}
	}
}

// clusterPatch sets one field of a cluster.
func (r *gatewayReader) clusterPatch(at tree.At, path string, value tree.At) {
	name := at.Get("name")
	c := r.proxy.cluster(name.Text())
	if c == nil {
		if strings.HasPrefix(name.Text(), "httproute/") && r.proxy.lacks(name.Text()) {
			r.proxy.miss(name, "the route has no rule with that cluster")
		}
		return
	}
	if keys := strings.Split(strings.TrimPrefix(path, "/"), "/"); len(keys) == 1 {
		wrapped := &tree.Node{Kind: tree.Map, Line: value.Line, Fields: []tree.Field{{Key: keys[0], Line: value.Line, Value: value.Node}}}
		c.patch(tree.At{File: value.File, Path: value.Path, Line: value.Line, Node: wrapped})
	}
}
