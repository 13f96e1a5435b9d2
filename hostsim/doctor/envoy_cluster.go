package doctor

import (
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// defaultOriginalHeader is what ORIGINAL_DST reads when no header is named
// (envoy.md 2.2).
const defaultOriginalHeader = "x-envoy-original-dst-host"

// optionsKey is where a cluster has its HTTP options.
const optionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// readCluster reads a cluster.
func readCluster(at tree.At, d defaults) *cluster {
	c := &cluster{
		name: at.Get("name").Text(), at: at,
		idle:        span{at: at},
		connections: number{value: d.breaker, at: at},
		pending:     number{value: d.breaker, at: at},
		requests:    number{value: d.breaker, at: at},
		retries:     number{value: d.retries, at: at},
	}
	c.patch(at)
	return c
}

// patch sets what a cluster, or a patch of one, says.
func (c *cluster) patch(at tree.At) {
	c.choice(at)
	c.members(at)
	c.breakers(at.Get("circuit_breakers"))
	_, options := messageOf(at.Get("typed_extension_protocol_options").Field(optionsKey))
	common := first(options.Get("common_http_protocol_options"), at.Get("common_http_protocol_options"))
	if options.Exists() || common.Exists() {
		c.idle = spanAt(common.Get("idle_timeout"), c.idle.value)
		if !c.idle.set {
			c.idle.at = first(common, options).Get("idle_timeout")
		}
		c.longest = spanAt(common.Get("max_stream_duration"), c.longest.value)
	}
	c.protocol(options, at)
	for _, f := range options.Get("http_filters").Items() {
		if kind, body := messageOf(f.Get("typed_config")); kind == "HeaderMutation" {
			c.strips = append(c.strips, removals(body)...)
		}
	}
	if socket := at.Get("transport_socket"); socket.Exists() {
		kind, _ := messageOf(socket.Get("typed_config"))
		c.tls = kind != "RawBuffer"
	}
}

// protocol reads which version of HTTP a cluster speaks. Options that say it take the
// place of what was said before.
func (c *cluster) protocol(options, at tree.At) {
	http1 := options.Get("explicit_http_config", "http_protocol_options")
	http2 := first(options.Get("explicit_http_config", "http2_protocol_options"), at.Get("http2_protocol_options"))
	switch {
	case http2.Exists():
		c.http1At, c.http2At = tree.At{}, http2
	case http1.Exists():
		c.http1At, c.http2At = http1, tree.At{}
	}
	c.alpn = c.alpn || options.Get("auto_config").Exists()
}

// removals are the request headers that a header_mutation removes.
func removals(body tree.At) []string { return removed(body.Get("mutations", "request_mutations")) }

// removed are the headers that a list of mutations removes.
func removed(mutations tree.At) (list []string) {
	for _, m := range mutations.Items() {
		if r := m.Get("remove").Text(); r != "" {
			list = append(list, strings.ToLower(r))
		}
	}
	return list
}

// choice reads how a cluster finds the endpoint of a request.
func (c *cluster) choice(at tree.At) {
	if at.Get("type").Text() == "ORIGINAL_DST" {
		c.source = sourceOriginal
		options := at.Get("original_dst_lb_config")
		c.headerAt = first(options.Get("http_header_name"), options.Get("use_http_header"))
		if options.Get("use_http_header").True() {
			c.header = strings.ToLower(options.Get("http_header_name").Text())
			if c.header == "" {
				c.header = defaultOriginalHeader
				c.headerAt = options.Get("http_header_name")
			}
		}
	}
	for _, p := range at.Get("load_balancing_policy", "policies").Items() {
		if kind, body := messageOf(p.Get("typed_extension_config", "typed_config")); kind == "OverrideHost" {
			c.override(body)
		}
	}
}

func (c *cluster) override(body tree.At) {
	c.source = sourceOverride
	sources := body.Get("override_host_sources")
	c.headerAt = sources
	for _, s := range sources.Items() {
		if h := s.Get("header"); h.Exists() {
			c.header, c.headerAt = strings.ToLower(h.Text()), h
			break
		}
	}
	c.fallback = len(body.Get("fallback_policy", "policies").Items()) > 0
}

func (c *cluster) members(at tree.At) {
	assignment := at.Get("load_assignment")
	for _, locality := range assignment.Get("endpoints").Items() {
		for _, e := range locality.Get("lb_endpoints").Items() {
			if a := addressOf(e.Get("endpoint", "address")); a != "" {
				c.endpoints = append(c.endpoints, endpoint{a, e})
			}
		}
	}
	c.listed = c.listed || at.Get("type").Text() == "STATIC" && assignment.Exists()
}

// breakers reads the thresholds of the default priority.
func (c *cluster) breakers(at tree.At) {
	for _, t := range at.Get("thresholds").Items() {
		if p := t.Get("priority").Text(); p != "" && p != "DEFAULT" {
			continue
		}
		for _, b := range []struct {
			key  string
			into *number
		}{
			{"max_connections", &c.connections},
			{"max_pending_requests", &c.pending},
			{"max_requests", &c.requests},
			{"max_retries", &c.retries},
		} {
			if n := numberAt(t.Get(b.key), b.into.value); n.set {
				*b.into = n
			} else {
				b.into.at = t.Get(b.key)
			}
		}
	}
}
