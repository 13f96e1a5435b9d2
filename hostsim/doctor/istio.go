package doctor

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// istioReader makes the proxy that a set of Istio's manifests is for. Istio's own
// listener, chain and clusters stand for those it generates.
type istioReader struct {
	envoyReader
	listener *listener
	chain    *chain
	objects  []manifest
}

// istio reads Istio's manifests together.
func (m *model) istio(set manifests) {
	objects := set.objects
	if len(objects) == 0 {
		return
	}
	p := &proxy{title: "Istio manifests", at: objects[0].at, host: hostIstio, patched: true, instead: set.instead}
	r := &istioReader{envoyReader: envoyReader{proxy: p}, objects: objects}
	d := p.defaults()
	r.listener = &listener{name: "generated", at: objects[0].at, buffer: number{value: d.buffer, at: objects[0].at}}
	r.chain = &chain{listener: r.listener, at: objects[0].at, filters: generatedFilters(objects[0].at)}
	r.listener.chains = []*chain{r.chain}
	p.listeners = []*listener{r.listener}
	r.each("ServiceEntry", r.serviceEntry)
	r.each("DestinationRule", r.destinationRule)
	r.each("VirtualService", r.virtualService)
	r.each("HTTPRoute", r.apiRoute)
	r.each("WasmPlugin", r.wasmPlugin)
	r.each("EnvoyFilter", func(o manifest) {
		for _, patch := range o.spec.Get("configPatches").Items() {
			r.patch(patch)
		}
		r.targets(o)
	})
	r.finish()
	r.chain.anchor()
	m.proxies = append(m.proxies, p)
	m.filters = append(m.filters, r.filters...)
}

func (r *istioReader) each(kind string, do func(manifest)) {
	for _, o := range r.objects {
		if o.kind == kind {
			do(o)
		}
	}
}

// generatedFilters are the filters of Istio's that the place of a plugin is told by
// (envoy.md 9.1).
func generatedFilters(at tree.At) []*filter {
	return []*filter{
		{name: "istio_authn", kind: "JwtAuthentication", at: at},
		{name: "envoy.filters.http.rbac", kind: "RBAC", at: at},
		{name: "envoy.filters.http.router", kind: "Router", at: at},
	}
}

func outbound(host, port, subset string) string {
	return fmt.Sprintf("outbound|%s|%s|%s", port, subset, host)
}

func (r *istioReader) serviceEntry(o manifest) {
	for _, host := range texts(o.spec.Get("hosts")) {
		for _, port := range o.spec.Get("ports").Items() {
			c := readCluster(tree.At{File: o.at.File, Path: o.at.Path, Line: o.at.Line}, r.proxy.defaults())
			c.name, c.at = outbound(host, port.Get("number").Text(), ""), port
			c.listed = o.spec.Get("resolution").Text() == "STATIC"
			if protocol := port.Get("protocol"); slices.Contains([]string{"HTTP2", "GRPC", "GRPC-WEB"}, strings.ToUpper(protocol.Text())) {
				c.http2At = protocol
			}
			for _, e := range o.spec.Get("endpoints").Items() {
				n := first(e.Get("ports").Field(port.Get("name").Text()), port.Get("targetPort"), port.Get("number"))
				c.endpoints = append(c.endpoints, endpoint{net.JoinHostPort(e.Get("address").Text(), n.Text()), e})
			}
			r.proxy.clusters = append(r.proxy.clusters, c)
		}
	}
}

// destinationRule sets the connection pools of a host.
func (r *istioReader) destinationRule(o manifest) {
	host := r.fullHost(o.spec.Get("host").Text(), o.namespaceOrDefault())
	pool := o.spec.Get("trafficPolicy", "connectionPool")
	for _, c := range r.proxy.clusters {
		if !strings.HasSuffix(c.name, "|"+host) {
			continue
		}
		c.idle = spanAt(pool.Get("http", "idleTimeout"), c.idle.value)
		for _, b := range []struct {
			at   tree.At
			into *number
		}{
			{pool.Get("tcp", "maxConnections"), &c.connections},
			{pool.Get("http", "http1MaxPendingRequests"), &c.pending},
			{pool.Get("http", "http2MaxRequests"), &c.requests},
			{pool.Get("http", "maxRetries"), &c.retries},
		} {
			if n := numberAt(b.at, 0); n.set {
				*b.into = n
			}
		}
		if upgrade := pool.Get("http", "h2UpgradePolicy"); upgrade.Text() == "UPGRADE" {
			c.http2At = upgrade
		}
		if o.spec.Get("trafficPolicy", "tls", "mode").Text() == "SIMPLE" {
			c.tls = true
		}
	}
}

// virtualService reads routes. Istio retries by itself unless it is told not to.
func (r *istioReader) virtualService(o manifest) {
	h := &virtualHost{at: o.at, name: o.name}
	for _, http := range o.spec.Get("http").Items() {
		matches := http.Get("match").Items()
		if len(matches) == 0 {
			matches = []tree.At{{}}
		}
		for _, match := range matches {
			h.routes = append(h.routes, r.httpRoute(http, match, h, o.namespaceOrDefault()))
		}
	}
	r.chain.hosts = append(r.chain.hosts, h)
}

func (r *istioReader) httpRoute(at, match tree.At, h *virtualHost, namespace string) *route {
	uri := match.Get("uri")
	rt := &route{
		at: at, host: h, prefix: uri.Get("prefix").Text(), path: uri.Get("exact").Text(), pattern: uri.Get("regex").Text(),
		conditional: match.Get("headers").Exists() || match.Get("queryParams").Exists(),
		removes:     at.Get("headers", "request", "remove").Items(),
		timeout:     spanAt(at.Get("timeout"), 0),
	}
	if rt.path == "" && rt.pattern == "" && rt.prefix == "" {
		rt.prefix = "/"
	}
	for _, d := range at.Get("route").Items() {
		rt.clusterAt = d.Get("destination")
		rt.removes = append(rt.removes, d.Get("headers", "request", "remove").Items()...)
		host, port := r.fullHost(rt.clusterAt.Get("host").Text(), namespace), rt.clusterAt.Get("port", "number").Text()
		rt.clusters = append(rt.clusters, r.destination(host, port, rt.clusterAt.Get("subset").Text()))
	}
	retries := at.Get("retries")
	rt.retryAt = retries
	rt.retryOn = "connect-failure,refused-stream,unavailable,cancelled,503" // Istio's own
	if on := retries.Get("retryOn"); on.Exists() {
		rt.retryOn = on.Text()
	}
	if n, ok := retries.Get("attempts").Uint(); ok && n == 0 {
		rt.retryOn = ""
	}
	rt.perTry = spanAt(retries.Get("perTryTimeout"), time.Duration(0))
	return rt
}

// apiRoute reads an HTTPRoute, which Istio serves as well. Its backends are Services.
func (r *istioReader) apiRoute(o manifest) {
	h := &virtualHost{at: o.at, name: o.name}
	for _, rule := range o.spec.Get("rules").Items() {
		var clusters []string
		for _, b := range rule.Get("backendRefs").Items() {
			namespace := b.Get("namespace").Text()
			if namespace == "" {
				namespace = o.namespaceOrDefault()
			}
			clusters = append(clusters, r.destination(b.Get("name").Text()+"."+namespace+".svc.cluster.local", b.Get("port").Text(), ""))
		}
		h.routes = append(h.routes, apiRoutes(rule, h, clusters, r.proxy.defaults())...)
	}
	r.chain.hosts = append(r.chain.hosts, h)
}

// destination is the name of a destination's cluster. A host with one port needs none.
func (r *istioReader) destination(host, port, subset string) string {
	if port == "" {
		for _, c := range r.proxy.clusters {
			if strings.HasSuffix(c.name, "||"+host) {
				return c.name
			}
		}
	}
	return outbound(host, port, subset)
}
