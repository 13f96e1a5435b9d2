package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

func chainRules() []Rule {
	return []Rule{
		{
			Name: "filter-after-router", Severity: Error, Looks: "the filter behind the router",
			Why: "the router ends the chain: the filter never runs, and Envoy refuses the listener", Fix: "put the filter before envoy.filters.http.router", check: afterRouter,
		},
		{
			Name: "filter-before-auth", Severity: Warning, Looks: "authentication or authorisation behind the filter",
			Why: "requests that will be refused take a place at an engine and bind sessions first, and a filter that authorises late may clear the choice of route",
			Fix: "put the filter behind them, next to the router (on Istio: leave phase out)", check: beforeAuth,
		},
		{
			Name: "buffer-filter", Severity: Warning, Looks: "a buffer filter before the filter",
			Why: "each body is held twice, and one above max_request_bytes gets a bare 413 that the filter never sees", Fix: "remove it: the filter holds the body itself", check: bufferFilter,
		},
		{
			Name: "several-filters", Severity: Error, Looks: "the filter more than once in a chain",
			Why: "the second one takes the endpoint of the first for a client's header, removes it and chooses anew: each engine is counted twice", Fix: "keep one",
			check: func(m *model, report reporter) {
				m.eachChain(func(_ *proxy, c *chain, _ *filter) {
					if ours := c.ours(); len(ours) > 1 {
						report(ours[1].at, "the chain has the filter %d times", len(ours))
					}
				})
			},
		},
		{
			Name: "filter-not-found", Severity: Error, Looks: "a filter that is to be discovered, and nobody serves it",
			Why: "the listener waits for it, then denies everything or goes on without", Fix: "add an EXTENSION_CONFIG patch of that name with operation ADD", check: notFound,
		},
		{
			Name: "client-names-engine", Severity: Error, Looks: "a listener without the filter whose routes lead to clusters that read the endpoint header",
			Why: "nobody removes the header there: a client chooses its engine, or with ORIGINAL_DST any address at all", Source: "envoy.md 2.2", check: clientChooses,
			Fix: "put the filter into that chain, remove the header by early_header_mutation_extensions, or route it to a cluster of its own",
		},
	}
}

func (c *chain) index(match func(*filter) bool) int { return slices.IndexFunc(c.filters, match) }

func isRouter(f *filter) bool { return f.kind == "Router" }

func isOurs(f *filter) bool { return f.plugin != nil && f.plugin.ours }

func afterRouter(m *model, report reporter) {
	m.eachChain(func(_ *proxy, c *chain, f *filter) {
		if router := c.index(isRouter); router >= 0 && c.index(isOurs) > router {
			report(f.at, "the filter stands behind %s", c.filters[router].name)
		}
	})
}

// authenticates reports whether a filter decides who may come in. Names are compared
// without punctuation: a patch may tell a filter by its name only.
func authenticates(f *filter) bool {
	kind := strings.ToLower(f.kind)
	return slices.ContainsFunc([]string{"jwtauth", "extauth", "rbac", "basicauth", "oauth2", "apikeyauth"}, func(k string) bool {
		return strings.HasPrefix(kind, k)
	})
}

func beforeAuth(m *model, report reporter) {
	m.eachChain(func(_ *proxy, c *chain, f *filter) {
		ours := c.index(isOurs)
		for _, later := range c.filters[ours+1:] {
			if authenticates(later) {
				report(f.at, "%s stands behind the filter", later.name)
				return
			}
		}
	})
}

func bufferFilter(m *model, report reporter) {
	m.eachChain(func(_ *proxy, c *chain, _ *filter) {
		for _, f := range c.filters[:c.index(isOurs)] {
			if f.kind == "Buffer" || f.kind == "FileSystemBufferFilterConfig" {
				report(f.at, "%s stands before the filter", f.name)
			}
		}
	})
}

func notFound(m *model, report reporter) {
	for _, p := range m.proxies {
		if p.host == hostEnvoy && !p.complete {
			continue
		}
		for _, l := range p.listeners {
			for _, c := range l.chains {
				for _, f := range c.filters {
					if f.kind == "" && !f.body.Exists() && named(f.name) {
						report(f.at.Get("config_discovery"), "no configuration for %s is here", f.name)
					}
				}
			}
		}
	}
}

func clientChooses(m *model, report reporter) {
	for _, p := range m.proxies {
		if p.host != hostEnvoy {
			continue
		}
		for _, l := range p.listeners {
			for _, c := range l.chains {
				if len(c.ours()) == 0 {
					p.exposed(c, report)
				}
			}
		}
	}
}

// endpointHeaders are the headers that filters of a proxy name engines by.
func (p *proxy) endpointHeaders() []string {
	list := []string{spec.DefaultEndpointHeader}
	for _, l := range p.listeners {
		for _, c := range l.chains {
			for _, f := range c.ours() {
				list = append(list, f.endpointHeader())
			}
		}
	}
	return list
}

// exposed reports routes of a chain without the filter that obey such a header.
func (p *proxy) exposed(c *chain, report reporter) {
	obeyed := slices.DeleteFunc(p.endpointHeaders(), func(header string) bool { return slices.Contains(c.early, header) })
	for _, h := range c.hosts {
		for _, r := range h.routes {
			for _, name := range r.clusters {
				if cl := p.cluster(name); cl != nil && slices.Contains(obeyed, cl.header) {
					report(r.clusterAt, "listener %s has no filter and leads to %s, which obeys %s", c.listener.name, name, cl.header)
				}
			}
		}
	}
}
