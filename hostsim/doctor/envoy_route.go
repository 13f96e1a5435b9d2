package doctor

import (
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// readHost reads a virtual host with its routes.
func readHost(at tree.At, d defaults) *virtualHost {
	h := &virtualHost{
		at: at, name: at.Get("name").Text(),
		removes:   at.Get("request_headers_to_remove").Items(),
		settings:  []tree.At{at.Get("typed_per_filter_config")},
		bodyLimit: bodyLimit(at),
	}
	for _, r := range at.Get("routes").Items() {
		if h.routes = append(h.routes, readRoute(r, h, d)); len(h.routes) > 10_000 {
			break
		}
	}
	for _, r := range h.routes {
		if !r.retryAt.Exists() {
			r.retries(at.Get("retry_policy"))
		}
	}
	return h
}

// bodyLimit reads the limit that came with 1.36 or the one it replaces.
func bodyLimit(at tree.At) number {
	return numberAt(first(at.Get("request_body_buffer_limit"), at.Get("per_request_buffer_limit_bytes"), at.Get("request_body_buffer_limit")), 0)
}

func readRoute(at tree.At, h *virtualHost, d defaults) *route {
	match, action := at.Get("match"), at.Get("route")
	r := &route{
		at: at, host: h,
		prefix:      match.Get("prefix").Text(),
		path:        match.Get("path").Text(),
		pattern:     match.Get("safe_regex", "regex").Text(),
		conditional: len(match.Get("headers").Items())+len(match.Get("query_parameters").Items()) > 0,
		removes:     at.Get("request_headers_to_remove").Items(),
		settings:    []tree.At{at.Get("typed_per_filter_config")},
		bodyLimit:   bodyLimit(at),
	}
	if sep := match.Get("path_separated_prefix").Text(); sep != "" {
		r.prefix = sep
	}
	for _, asked := range append(match.Get("headers").Items(), match.Get("query_parameters").Items()...) {
		r.asks = append(r.asks, asked.Get("name").Text())
	}
	if action.Exists() {
		r.action(action, d)
	}
	return r
}

// action reads where a route leads, and how long and how often it tries.
func (r *route) action(at tree.At, d defaults) {
	r.clusterAt = at.Get("cluster")
	if name := r.clusterAt.Text(); name != "" {
		r.clusters = []string{name}
	}
	for _, w := range at.Get("weighted_clusters", "clusters").Items() {
		r.clusterAt = w.Get("name")
		r.clusters = append(r.clusters, r.clusterAt.Text())
		r.removes = append(r.removes, w.Get("request_headers_to_remove").Items()...)
	}
	for _, mirror := range at.Get("request_mirror_policies").Items() {
		r.mirrors = append(r.mirrors, mirror.Get("cluster"))
	}
	r.timeout = spanAt(at.Get("timeout"), d.timeout)
	if !r.timeout.set {
		r.timeout.at = at.Get("timeout")
	}
	r.idle = spanAt(at.Get("idle_timeout"), 0)
	r.longest = spanAt(at.Get("max_stream_duration", "max_stream_duration"), 0)
	r.retries(at.Get("retry_policy"))
}

func (r *route) retries(at tree.At) {
	r.retryAt = first(r.retryAt, at)
	if at.Exists() {
		r.retryOn = at.Get("retry_on").Text()
		r.perTry = spanAt(at.Get("per_try_timeout"), 0)
		if n, ok := at.Get("num_retries").Uint(); ok && n == 0 {
			r.retryOn = ""
		}
	}
}
