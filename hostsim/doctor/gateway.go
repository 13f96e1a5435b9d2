package doctor

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// wasmFilterPrefix begins the name that Envoy Gateway gives a wasm filter.
const wasmFilterPrefix = "envoy.filters.http.wasm/envoyextensionpolicy/"

// gatewayReader makes the proxy that a set of manifests of the Gateway API and of Envoy
// Gateway is for.
type gatewayReader struct {
	envoyReader
	listener *listener
	chain    *chain
	objects  []manifest
}

// gateway reads these manifests together.
func (m *model) gateway(set manifests) {
	objects := set.objects
	if len(objects) == 0 {
		return
	}
	p := &proxy{title: "Envoy Gateway manifests", at: objects[0].at, host: hostGateway, instead: set.instead}
	r := &gatewayReader{envoyReader: envoyReader{proxy: p}, objects: objects}
	d, at := p.defaults(), objects[0].at
	r.listener = &listener{name: "generated", at: at, buffer: number{value: d.buffer, at: at}}
	r.chain = &chain{listener: r.listener, at: at, idle: span{value: d.idle, at: at}}
	r.chain.filters = []*filter{{name: "envoy.filters.http.router", kind: "Router", at: at}}
	r.listener.chains = []*chain{r.chain}
	p.listeners = []*listener{r.listener}
	r.each("HTTPRoute", r.route)
	r.each("EnvoyExtensionPolicy", r.extensionPolicy)
	r.each("ClientTrafficPolicy", r.clientPolicy)
	r.each("BackendTrafficPolicy", r.backendPolicy)
	r.each("EnvoyPatchPolicy", func(o manifest) {
		for _, patch := range o.spec.Get("jsonPatches").Items() {
			r.patch(o, patch)
		}
	})
	r.finish()
	r.chain.anchor()
	m.proxies = append(m.proxies, p)
	m.filters = append(m.filters, r.filters...)
}

func (r *gatewayReader) each(kind string, do func(manifest)) {
	for _, o := range r.objects {
		if o.kind == kind {
			do(o)
		}
	}
}

// route reads an HTTPRoute. Each of its rules has a cluster of its own.
func (r *gatewayReader) route(o manifest) {
	h := &virtualHost{at: o.at, name: o.name}
	for i, rule := range o.spec.Get("rules").Items() {
		name := fmt.Sprintf("httproute/%s/%s/rule/%d", o.namespaceOrDefault(), o.name, i)
		c := readCluster(tree.At{File: rule.File, Path: rule.Path, Line: rule.Line}, r.proxy.defaults())
		c.name, c.at, c.headerAt = name, rule, rule
		r.proxy.clusters = append(r.proxy.clusters, c)
		h.routes = append(h.routes, apiRoutes(rule, h, []string{name}, r.proxy.defaults())...)
	}
	r.chain.hosts = append(r.chain.hosts, h)
}

// apiRoutes are the routes of one rule of an HTTPRoute: one for each of its matches.
func apiRoutes(rule tree.At, h *virtualHost, clusters []string, d defaults) (list []*route) {
	matches := rule.Get("matches").Items()
	if len(matches) == 0 {
		matches = []tree.At{{}}
	}
	for _, m := range matches {
		list = append(list, apiRoute(rule, m, h, clusters, d))
	}
	return list
}

func apiRoute(at, match tree.At, h *virtualHost, clusters []string, d defaults) *route {
	path := match.Get("path")
	rt := &route{at: at, host: h, prefix: "/", clusters: clusters, clusterAt: at.Get("backendRefs"), retryAt: at.Get("retry")}
	if value := path.Get("value").Text(); value != "" {
		switch path.Get("type").Text() {
		case "Exact":
			rt.prefix, rt.path = "", value
		case "RegularExpression":
			rt.prefix, rt.pattern = "", value
		default:
			rt.prefix = value
		}
	}
	rt.conditional = match.Get("headers").Exists() || match.Get("queryParams").Exists() || match.Get("method").Exists()
	rt.timeout = spanAt(at.Get("timeouts", "request"), d.timeout)
	if !rt.timeout.set {
		rt.timeout.at = at.Get("timeouts", "request")
	}
	for _, f := range at.Get("filters").Items() {
		rt.removes = append(rt.removes, f.Get("requestHeaderModifier", "remove").Items()...)
	}
	return rt
}

// extensionPolicy reads wasm filters. There is no header-pause flag among their
// settings (envoy.md 9.2); a patch may add it.
func (r *gatewayReader) extensionPolicy(o manifest) {
	for i, w := range o.spec.Get("wasm").Items() {
		p := &plugin{at: w, pauseAt: w, runtime: w.Get("runtime"), vmID: w.Get("vmID"), failure: failClosed, failureAt: w.Get("failOpen")}
		if p.failureAt.True() {
			p.failure = failOpen
		}
		source := first(w.Get("code", "image"), w.Get("code", "http"))
		p.code = imageCode(source.Get("url"), source.Get("sha256"))
		if w.Get("code", "type").Text() == "HTTP" {
			p.code.image = false
		}
		p.env = texts(w.Get("env", "hostKeys"))
		p.configAt = w.Get("config")
		if p.configAt.Exists() && p.configAt.Node.Kind == tree.String {
			p.configText(p.configAt)
		} else {
			p.configTree(p.configAt)
		}
		p.ours = p.ours || named(p.code.url, w.Get("name").Text(), w.Get("rootID").Text())
		if p.config != nil {
			r.filters = append(r.filters, p.config)
		}
		generated := fmt.Sprintf("%s%s/%s/wasm/%d", wasmFilterPrefix, o.namespaceOrDefault(), o.name, i)
		r.insert(&filter{name: w.Get("name").Text(), generated: generated, kind: "Wasm", at: w, body: w, plugin: p})
	}
}

// insert puts a filter before the router.
func (r *gatewayReader) insert(f *filter) {
	last := len(r.chain.filters) - 1
	r.chain.filters = append(r.chain.filters[:last:last], f, r.chain.filters[last])
}

func (r *gatewayReader) clientPolicy(o manifest) {
	if limit := o.spec.Get("connection", "bufferLimit"); limit.Exists() {
		r.listener.buffer = number{value: quantity(limit.Text()), set: true, at: limit}
	}
	http := o.spec.Get("timeout", "http")
	r.chain.request = spanAt(http.Get("requestReceivedTimeout"), r.chain.request.value)
	if idle := spanAt(http.Get("streamIdleTimeout"), 0); idle.set {
		r.chain.idle = idle
	}
}

// backendPolicy sets how the clusters of routes work. A policy of a gateway holds for
// all of them.
func (r *gatewayReader) backendPolicy(o manifest) {
	for _, h := range r.chain.hosts {
		if !targets(o.spec, h.name) {
			continue
		}
		for _, rt := range h.routes {
			r.policyOf(o, rt)
			if c := r.proxy.cluster(rt.clusters[0]); c != nil {
				c.backend(o.spec)
			}
		}
	}
}

// targets reports whether a policy is for a route, or for all of them.
func targets(policy tree.At, route string) bool {
	refs := append(policy.Get("targetRefs").Items(), policy.Get("targetRef"))
	for _, ref := range refs {
		if ref.Exists() && (ref.Get("kind").Text() != "HTTPRoute" || ref.Get("name").Text() == route) {
			return true
		}
	}
	return policy.Get("targetSelectors").Exists()
}

func (r *gatewayReader) policyOf(o manifest, rt *route) {
	http := o.spec.Get("timeout", "http")
	if t := spanAt(http.Get("requestTimeout"), 0); t.set && !rt.timeout.set {
		rt.timeout = t
	}
	if t := spanAt(http.Get("maxStreamDuration"), 0); t.set {
		rt.longest = t
	}
	if t := spanAt(http.Get("streamIdleTimeout"), 0); t.set {
		rt.idle = t
	}
	if retry := o.spec.Get("retry"); retry.Exists() {
		rt.retryAt = retry
		rt.retryOn = strings.Join(texts(retry.Get("retryOn", "triggers")), ",")
		if rt.retryOn == "" {
			rt.retryOn = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes" // Envoy Gateway's own
		}
		if n, ok := retry.Get("numRetries").Uint(); ok && n == 0 {
			rt.retryOn = ""
		}
		rt.perTry = spanAt(retry.Get("perRetry", "timeout"), 0)
	}
	if size := o.spec.Get("requestBuffer", "limit"); size.Exists() {
		r.insertBuffer(size)
	}
}

// backend reads a BackendTrafficPolicy for a cluster.
func (c *cluster) backend(policy tree.At) {
	if override := policy.Get("loadBalancer", "endpointOverride", "extractFrom"); override.Exists() {
		c.source, c.fallback, c.headerAt = sourceOverride, true, override
		for _, s := range override.Items() {
			if h := s.Get("header"); h.Exists() {
				c.header, c.headerAt = strings.ToLower(h.Text()), h
				break
			}
		}
	}
	breaker := policy.Get("circuitBreaker")
	for _, b := range []struct {
		key  string
		into *number
	}{
		{"maxConnections", &c.connections},
		{"maxPendingRequests", &c.pending},
		{"maxParallelRequests", &c.requests},
		{"maxParallelRetries", &c.retries},
	} {
		if n := numberAt(breaker.Get(b.key), 0); n.set {
			*b.into = n
		} else {
			b.into.at = first(breaker, policy).Get(b.key)
		}
	}
	if idle := spanAt(policy.Get("timeout", "http", "connectionIdleTimeout"), 0); idle.set {
		c.idle = idle
	} else if !c.idle.set {
		c.idle.at = policy.Get("timeout", "http", "connectionIdleTimeout")
	}
}

// insertBuffer puts Envoy Gateway's request buffer before the filter, where it makes it.
func (r *gatewayReader) insertBuffer(limit tree.At) {
	for _, f := range r.chain.filters {
		if f.kind == "Buffer" {
			return
		}
	}
	r.chain.filters = append([]*filter{{name: "envoy.filters.http.buffer", kind: "Buffer", at: limit}}, r.chain.filters...)
}

// quantity reads a quantity of bytes as Kubernetes writes it, 0 for what is none.
func quantity(text string) uint64 {
	digits := strings.TrimRight(text, "KMGTikm")
	n, ok := tree.At{Node: &tree.Node{Kind: tree.Number, Text: digits}}.Uint()
	if !ok {
		return 0
	}
	factor, known := map[string]uint64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}[text[len(digits):]]
	if !known || n > 1<<40 {
		return 0
	}
	return n * factor
}
