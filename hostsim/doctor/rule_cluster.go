package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func clusterRules() []Rule {
	return []Rule{
		{
			Name: "unknown-cluster", Severity: Error, Looks: "a cluster that is named and not there",
			Why: "a call to it fails at once, each time: the filter goes on as without a state service, or aborts nothing; a route to it answers 503", Source: "envoy.md 3.1, W10",
			Fix: "add the cluster or correct its name; on Istio it is outbound|PORT||HOST, and outside services need a ServiceEntry", check: unknownCluster,
		},
		{
			Name: "original-dst-header", Severity: Error, Looks: "an ORIGINAL_DST cluster that does not read x-pointsman-endpoint",
			Why: "without a header it has no address and answers 503; Envoy's default header is not taken away from clients, who could name any address", Source: "envoy.md 2.2",
			Fix: "original_dst_lb_config: {use_http_header: true, http_header_name: x-pointsman-endpoint}", check: originalHeader,
		},
		{
			Name: "override-source", Severity: Error, Looks: "an override_host policy that does not read x-pointsman-endpoint",
			Why: "the fallback policy serves every request, and nothing tells that the choice is ignored", Source: "envoy.md 2.3", Fix: "override_host_sources: [{header: x-pointsman-endpoint}]", check: overrideSource,
		},
		{
			Name: "override-fallback", Severity: Error, Looks: "an override_host policy without a fallback policy",
			Why: "requests without an endpoint, and those whose engine is no member, have no host", Fix: "add fallback_policy with least_request", check: overrideFallback,
		},
		{
			Name: "endpoint-mode", Severity: Error, Looks: "a filter and a cluster of different endpoint modes",
			Why: "ORIGINAL_DST takes one address, override_host a list and only members: retries and on_no_state do what nobody expects", Fix: "set endpoint_mode to what the cluster does", check: endpointMode,
		},
		{
			Name: "abort-cluster", Severity: Error, Looks: "an abort cluster that does not choose its host by the endpoint header",
			Why: "the abort goes to any engine, and the one that is meant goes on computing", Fix: "name the cluster that requests are routed to", check: abortCluster,
		},
		{
			Name: "engine-not-endpoint", Severity: Error, Looks: "an engine of the fleet that is no endpoint of the override_host cluster",
			Why: "Envoy passes over an address that is no member, and the fallback policy chooses", Source: "field report I32", Fix: "add the engine to the cluster's endpoints, or use ORIGINAL_DST, which knows no members", check: notEndpoint,
		},
		{
			Name: "engines-http2", Severity: Warning, Looks: "HTTP/2 to engines",
			Why: "the servers of vLLM and SGLang speak HTTP/1.1: connections fail with a protocol error", Fix: "explicit_http_config: {http_protocol_options: {}}",
			check: func(m *model, report reporter) {
				m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
					if c.http2At.Exists() {
						report(c.http2At, "cluster %s speaks HTTP/2", c.name)
					}
				})
			},
		},
		{
			Name: "headers-reach-engines", Severity: Note, Looks: "routing headers that engines see",
			Why: "engines have no use for them, and may log them", Fix: "remove them behind the host choice: header_mutation and upstream_codec in http_filters of the cluster's HttpProtocolOptions",
			check: func(m *model, report reporter) {
				m.eachEngines(func(p *proxy, _ *filter, c *cluster) {
					if c.source != sourceOwn && p.host == hostEnvoy && !slices.Contains(c.strips, headerEndpoint) {
						report(c.at.Get("typed_extension_protocol_options"), "cluster %s does not remove %s", c.name, headerEndpoint)
					}
				})
			},
		},
	}
}

func unknownCluster(m *model, report reporter) {
	m.eachPlugin(func(p *proxy, f *filter) {
		cfg := f.plugin.config
		if cfg == nil || cfg.spec == nil {
			return
		}
		if s := cfg.spec.State; s != nil && p.lacks(s.Cluster) {
			report(cfg.at.Get("state", "cluster"), "cluster %q of the state service is not there", s.Cluster)
		}
		if a := cfg.spec.Abort; a != nil && p.lacks(a.Cluster) {
			report(cfg.at.Get("abort", "cluster"), "cluster %q for aborts is not there", a.Cluster)
		}
	})
	m.eachRoute(func(p *proxy, _ *chain, _ *filter, r *route) {
		for _, name := range r.clusters {
			if p.host == hostEnvoy && p.lacks(name) {
				report(r.clusterAt, "cluster %q of the route is not there", name)
			}
		}
	})
}

// lacks reports whether a proxy is known not to have a cluster. A control plane makes
// clusters of services that are not here: those of Istio are told by their host.
func (p *proxy) lacks(name string) bool {
	if p.cluster(name) != nil {
		return false
	}
	switch p.host {
	case hostIstio:
		parts := strings.Split(name, "|")
		if len(parts) != 4 {
			return true
		}
		return slices.ContainsFunc(p.clusters, func(c *cluster) bool { return strings.HasSuffix(c.name, "|"+parts[3]) })
	case hostGateway:
		route, _, found := strings.Cut(name, "/rule/")
		return !found || slices.ContainsFunc(p.clusters, func(c *cluster) bool { return strings.HasPrefix(c.name, route+"/rule/") })
	case hostEnvoy:
	}
	return p.complete
}

func originalHeader(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
		switch {
		case c.source != sourceOriginal || c.header == headerEndpoint:
		case c.header == "":
			report(c.headerAt, "cluster %s reads no header", c.name)
		default:
			report(c.headerAt, "cluster %s reads %s", c.name, c.header)
		}
	})
}

func overrideSource(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
		switch {
		case c.source != sourceOverride || c.header == headerEndpoint:
		case c.header == "":
			report(c.headerAt, "cluster %s has no header among its sources", c.name)
		default:
			report(c.headerAt, "cluster %s reads %s", c.name, c.header)
		}
	})
}

func overrideFallback(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
		if c.source == sourceOverride && !c.fallback {
			report(c.at.Get("load_balancing_policy"), "cluster %s has no fallback policy", c.name)
		}
	})
}

func endpointMode(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, f *filter, c *cluster) {
		cfg := f.plugin.config
		switch {
		case cfg == nil || cfg.spec == nil:
		case c.source == sourceOriginal && cfg.spec.EndpointMode != spec.EndpointOriginalDst,
			c.source == sourceOverride && cfg.spec.EndpointMode != spec.EndpointOverrideHost:
			report(cfg.at.Get("endpoint_mode"), "the filter is set to %s, cluster %s is not", cfg.spec.EndpointMode, c.name)
		}
	})
}

func abortCluster(m *model, report reporter) {
	m.eachPlugin(func(p *proxy, f *filter) {
		cfg := f.plugin.config
		if cfg == nil || cfg.spec == nil || cfg.spec.Abort == nil {
			return
		}
		if c := p.cluster(cfg.spec.Abort.Cluster); c != nil && c.source == sourceOwn {
			report(cfg.at.Get("abort", "cluster"), "cluster %s chooses its host by itself", c.name)
		}
	})
}

// notEndpoint compares literal addresses only: names are looked up elsewhere.
func notEndpoint(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, f *filter, c *cluster) {
		if c.source != sourceOverride || !c.listed {
			return
		}
		member := func(address string) bool {
			return slices.ContainsFunc(c.endpoints, func(e endpoint) bool { return e.address == address })
		}
		for _, w := range m.workersOf(f) {
			if !member(w.address) {
				report(w.at, "%s is no endpoint of %s", w.address, c.name)
			}
		}
	})
}

// worker is an engine with the place that names it.
type worker struct {
	id      string
	address string // literal, empty when it is a name
	at      tree.At
}
