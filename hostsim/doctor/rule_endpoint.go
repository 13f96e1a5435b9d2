package doctor

import (
	"slices"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func endpointRules() []Rule {
	return []Rule{
		{
			Name: "original-dst-header", Severity: Error, Looks: "an ORIGINAL_DST cluster that does not read the header the filter writes",
			Why: "without a header it has no address and answers 503; Envoy's default header is not taken away from clients, who could name any address", Source: "envoy.md 2.2",
			Fix: "original_dst_lb_config: {use_http_header: true, http_header_name: HEADER}, with the endpoint_header of the filter, x-pointsman-endpoint unless it is set", check: originalHeader,
		},
		{
			Name: "override-source", Severity: Error, Looks: "an override_host policy that does not read the header the filter writes",
			Why: "the fallback policy serves every request, and nothing tells that the choice is ignored", Source: "envoy.md 2.3", Fix: "override_host_sources: [{header: HEADER}], with the endpoint_header of the filter, x-pointsman-endpoint unless it is set", check: overrideSource,
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
	}
}

func originalHeader(m *model, report reporter) {
	m.otherHeaders(sourceOriginal, "reads no header", report)
}

func overrideSource(m *model, report reporter) {
	m.otherHeaders(sourceOverride, "has no header among its sources", report)
}

// otherHeaders reports the clusters of a kind that do not read the header their filter
// writes.
func (m *model) otherHeaders(kind source, none string, report reporter) {
	m.eachEngines(func(_ *proxy, f *filter, c *cluster) {
		switch header := f.endpointHeader(); {
		case c.source != kind || c.header == header:
		case c.header == "":
			report(c.headerAt, "cluster %s %s, the filter writes %s", c.name, none, header)
		default:
			report(c.headerAt, "cluster %s reads %s, the filter writes %s", c.name, c.header, header)
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
