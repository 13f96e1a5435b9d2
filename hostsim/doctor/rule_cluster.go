package doctor

import (
	"slices"
	"strings"
)

func clusterRules() []Rule {
	return []Rule{
		{
			Name: "unknown-cluster", Severity: Error, Looks: "a cluster that is named and not there",
			Why: "a call to it fails at once, each time: the filter goes on as without a state service, or aborts nothing; a route to it answers 503, copies are not sent", Source: "envoy.md 3.1, W10",
			Fix: "add the cluster or correct its name; on Istio it is outbound|PORT||HOST, and outside services need a ServiceEntry", check: unknownCluster,
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
				m.eachEngines(func(p *proxy, f *filter, c *cluster) {
					if header := f.endpointHeader(); c.source != sourceOwn && p.host == hostEnvoy && !slices.Contains(c.strips, header) {
						report(c.at.Get("typed_extension_protocol_options"), "cluster %s does not remove %s", c.name, header)
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
		for _, mirror := range r.mirrors {
			if name := mirror.Text(); p.host == hostEnvoy && name != "" && p.lacks(name) {
				report(mirror, "cluster %q for copies of requests is not there", name)
			}
		}
	})
}

// lacks reports whether a proxy is known not to have a cluster. A control plane makes
// clusters of services that are not here: those of Istio are told by their host.
func (p *proxy) lacks(name string) bool {
	if p.cluster(name) != nil || p.complete {
		return p.cluster(name) == nil
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
	return false
}
