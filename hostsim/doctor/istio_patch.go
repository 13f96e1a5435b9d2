package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// patch applies one patch of an EnvoyFilter, as far as it concerns the filter.
func (r *istioReader) patch(at tree.At) {
	value, operation := at.Get("patch", "value"), at.Get("patch", "operation").Text()
	switch at.Get("applyTo").Text() {
	case "LISTENER":
		if limit := value.Get("per_connection_buffer_limit_bytes"); limit.Exists() {
			r.listener.buffer = numberAt(limit, r.listener.buffer.value)
		}
	case "NETWORK_FILTER":
		if kind, body := messageOf(value.Get("typed_config")); kind == "HttpConnectionManager" {
			r.chain.idle = spanAt(body.Get("stream_idle_timeout"), r.chain.idle.value)
			r.chain.request = spanAt(body.Get("request_timeout"), r.chain.request.value)
			r.chain.longest = spanAt(body.Get("common_http_protocol_options", "max_stream_duration"), r.chain.longest.value)
		}
	case "HTTP_FILTER":
		r.httpFilter(at, value, operation)
	case "EXTENSION_CONFIG":
		if operation == "ADD" {
			r.addExtension(value)
		}
	case "CLUSTER":
		r.clusterPatch(at, value, operation)
	case "ROUTE_CONFIGURATION", "VIRTUAL_HOST":
		r.chain.removes = append(r.chain.removes, value.Get("request_headers_to_remove").Items()...)
		r.chain.settings = append(r.chain.settings, value.Get("typed_per_filter_config"))
	case "HTTP_ROUTE":
		r.routePatch(at, value, operation)
	}
}

// httpFilter puts a filter where its patch says.
func (r *istioReader) httpFilter(at, value tree.At, operation string) {
	anchor := at.Get("match", "listener", "filterChain", "filter", "subFilter", "name").Text()
	switch operation {
	case "REMOVE", "REPLACE":
		return
	case "MERGE":
		for _, f := range r.chain.filters {
			if d := value.Get("disabled"); d.Exists() && f.name == anchor {
				f.disabled = d
			}
		}
		return
	}
	f := r.filter(value)
	place := slices.IndexFunc(r.chain.filters, func(o *filter) bool { return o.name == anchor })
	if place < 0 && anchor != "" {
		// A filter that Istio adds for other reasons; it stands before the router.
		place = len(r.chain.filters) - 1
		kind := strings.ReplaceAll(anchor[strings.LastIndex(anchor, ".")+1:], "_", "")
		r.chain.filters = slices.Insert(r.chain.filters, place, &filter{name: anchor, kind: kind, at: at})
	}
	switch {
	case operation == "INSERT_FIRST":
		place = 0
	case operation == "INSERT_AFTER" && place >= 0:
		place++
	case operation == "ADD" || place < 0:
		place = len(r.chain.filters)
		if operation != "ADD" {
			place = len(r.chain.filters) - 1
		}
	}
	r.chain.filters = slices.Insert(r.chain.filters, place, f)
}

// routePatch applies a patch of routes to all of them, or adds a route.
func (r *istioReader) routePatch(at, value tree.At, operation string) {
	if operation != "MERGE" {
		h := &virtualHost{at: at}
		h.routes = []*route{readRoute(value, h, r.proxy.defaults())}
		r.chain.hosts = append([]*virtualHost{h}, r.chain.hosts...)
		return
	}
	if len(r.chain.hosts) == 0 {
		r.chain.hosts = []*virtualHost{{at: at, routes: []*route{{at: at}}}}
	}
	for _, h := range r.chain.hosts {
		for _, rt := range h.routes {
			rt.removes = append(rt.removes, value.Get("request_headers_to_remove").Items()...)
			rt.settings = append(rt.settings, value.Get("typed_per_filter_config"))
			action := value.Get("route")
			if t := action.Get("timeout"); t.Exists() {
				rt.timeout = spanAt(t, rt.timeout.value)
			}
			if retry := action.Get("retry_policy"); retry.Exists() {
				rt.retryAt = retry
				rt.retries(retry)
			}
		}
	}
}
