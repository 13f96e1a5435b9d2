package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

// Rules lists every rule, in the order of RULES.md. Each family is a file: rule_*.go.
func Rules() []Rule {
	return slices.Concat(inputRules(), versionRules(), pluginRules(), capabilityRules(), failureRules(), moduleRules(), chainRules(), disabledRules(),
		bodyRules(), timeRules(), routeRules(), patchRules(), clusterRules(), endpointRules(), breakerRules(),
		stateRules(), streamRules(), knowledgeRules(), fleetRules())
}

// eachChain calls visit for every chain with the filter in it.
func (m *model) eachChain(visit func(*proxy, *chain, *filter)) {
	for _, p := range m.proxies {
		for _, l := range p.listeners {
			for _, c := range l.chains {
				if ours := c.ours(); len(ours) > 0 {
					visit(p, c, ours[0])
				}
			}
		}
	}
}

// eachPlugin calls visit for every wasm plugin of the filter.
func (m *model) eachPlugin(visit func(*proxy, *filter)) {
	for _, p := range m.proxies {
		for _, l := range p.listeners {
			for _, c := range l.chains {
				for _, f := range c.ours() {
					visit(p, f)
				}
			}
		}
	}
}

// eachRoute calls visit for every route that leads to engines behind the filter.
func (m *model) eachRoute(visit func(*proxy, *chain, *filter, *route)) {
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		for _, h := range c.hosts {
			for _, r := range h.routes {
				if off, _ := c.offFor(f, r); !off && (p.toEngines(r) || r.carries(f)) {
					visit(p, c, f, r)
				}
			}
		}
	})
}

// toEngines reports whether a route leads to a cluster that reads the endpoint.
func (p *proxy) toEngines(r *route) bool {
	return slices.ContainsFunc(r.clusters, func(name string) bool {
		c := p.cluster(name)
		return c != nil && c.source != sourceOwn
	})
}

// carries reports whether a route is the one that a routed path takes.
func (r *route) carries(f *filter) bool {
	return len(r.clusters) > 0 && slices.ContainsFunc(paths(f), func(path string) bool { return r.host.routeOf(path) == r })
}

// paths are the routed paths of a filter.
func paths(f *filter) []string {
	if f.plugin.config == nil || f.plugin.config.spec == nil {
		return nil
	}
	return f.plugin.config.spec.Paths
}

// endpointHeader is where a filter puts its choice, and what its host must read (design
// section 8). It is read from the text: a configuration that is refused names it too.
func (f *filter) endpointHeader() string {
	if f.plugin.config != nil {
		if name := f.plugin.config.at.Get("endpoint_header").Text(); name != "" {
			return strings.ToLower(name)
		}
	}
	return spec.DefaultEndpointHeader
}

// eachEngines calls visit for every cluster that requests of the filter go to, once for
// each header that the filters before it write.
func (m *model) eachEngines(visit func(*proxy, *filter, *cluster)) {
	type use struct {
		cluster *cluster
		header  string
	}
	seen := map[use]bool{}
	once := func(p *proxy, f *filter, c *cluster) {
		if u := (use{c, f.endpointHeader()}); !seen[u] {
			seen[u] = true
			visit(p, f, c)
		}
	}
	m.eachRoute(func(p *proxy, _ *chain, f *filter, r *route) {
		for _, name := range r.clusters {
			if c := p.cluster(name); c != nil {
				once(p, f, c)
			}
		}
	})
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		for _, cl := range p.clusters {
			if len(c.hosts) == 0 && cl.source != sourceOwn {
				once(p, f, cl)
			}
		}
	})
}

// eachState calls visit for every cluster of the state service.
func (m *model) eachState(visit func(*proxy, *filter, *cluster)) {
	m.eachPlugin(func(p *proxy, f *filter) {
		if cfg := f.plugin.config; cfg != nil && cfg.spec != nil && cfg.spec.State != nil {
			if c := p.cluster(cfg.spec.State.Cluster); c != nil {
				visit(p, f, c)
			}
		}
	})
}
