package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func routeRules() []Rule {
	return []Rule{
		{
			Name: "header-removed", Severity: Error, Looks: "the endpoint header is removed on the way to the host choice",
			Why: "Envoy finishes the headers before it chooses the host, from 1.36 on: the choice is lost, ORIGINAL_DST answers 503, override_host falls back", Source: "envoy.md 2.7, W19", check: headerRemoved,
			Fix: "remove it behind the choice: header_mutation and upstream_codec in http_filters of the cluster's HttpProtocolOptions",
		},
		{
			Name: "route-misses-engines", Severity: Error, Looks: "a routed path whose route leads to a cluster that does not read the endpoint",
			Why: "the filter chooses and counts an engine, and the cluster chooses another", Fix: "lead the path to the cluster with override_host or ORIGINAL_DST, or take it out of paths", check: missesEngines,
		},
		{
			Name: "route-missing", Severity: Warning, Looks: "a routed path that no route takes",
			Why: "Envoy matches anew when the filter writes its headers, x-pointsman-model and x-pointsman-mode among them, and answers 404 after the filter has chosen", Source: "field report I17",
			Fix: "add a route for the path without other conditions, or take it out of paths", check: routeMissing,
		},
		{
			Name: "transport-retry-unused", Severity: Warning, Looks: "transport_retry without retries of the route",
			Why: "the filter names further engines and nobody tries them", Fix: "add retry_policy with retry_on: connect-failure,reset to the route, or leave transport_retry out", check: retryUnused,
		},
		{
			Name: "retry-unnamed", Severity: Warning, Looks: "a route that retries on override_host without transport_retry",
			Why: "the filter names one engine: the second try goes where the fallback policy likes, past caps and sessions, and the charge stays on the first. Istio retries twice unless it is told not to", Source: "envoy.md 4.7", check: retryUnnamed,
			Fix: "set transport_retry: true, or turn retries off (attempts: 0 on Istio)",
		},
		{
			Name: "retry-same-host", Severity: Warning, Looks: "a route that retries on ORIGINAL_DST",
			Why: "every try goes to the address that failed", Source: "envoy.md 2.1", Fix: "leave retries out, or use endpoint_mode override_host with transport_retry", check: retrySame,
		},
	}
}

// routeOf is the route that a path takes in a virtual host without special headers, nil
// for none. A pattern is not interpreted: it may take the path.
func (h *virtualHost) routeOf(path string) *route {
	if r, known := h.taken[path]; known {
		return r
	}
	if h.taken == nil {
		h.taken = map[string]*route{}
	}
	h.taken[path] = nil
	for _, r := range h.routes {
		if r.takes(path) {
			h.taken[path] = r
			break
		}
	}
	return h.taken[path]
}

// takes reports whether a route takes a path whatever else the request has.
func (r *route) takes(path string) bool {
	return !r.conditional && r.fits(path)
}

// fits reports whether a path is what a route matches.
func (r *route) fits(path string) bool {
	return r.path == path || r.prefix != "" && strings.HasPrefix(path, r.prefix) || r.pattern != ""
}

// conditionally is a route that takes a path of requests with certain headers or query
// parameters only, nil for none.
func (c *chain) conditionally(path string) *route {
	for _, h := range c.hosts {
		for _, r := range h.routes {
			if r.conditional && r.fits(path) {
				return r
			}
		}
	}
	return nil
}

// takenBy are those of some paths that take a route.
func (r *route) takenBy(paths []string) (list []string) {
	for _, path := range paths {
		if r.host != nil && r.host.routeOf(path) == r {
			list = append(list, path)
		}
	}
	return list
}

func headerRemoved(m *model, report reporter) {
	m.eachChain(func(_ *proxy, c *chain, ours *filter) {
		header := ours.endpointHeader()
		note := func(places []tree.At) {
			for _, at := range places {
				if strings.EqualFold(at.Text(), header) {
					report(at, "%s is removed before the host is chosen", header)
				}
			}
		}
		note(c.removes)
		for _, f := range c.filters[c.index(isOurs)+1:] {
			if f.kind == "HeaderMutation" && slices.Contains(removals(f.body), header) {
				report(f.at, "%s removes %s behind the filter", f.name, header)
			}
		}
		for _, h := range c.hosts {
			note(h.removes)
			for _, r := range h.routes {
				note(r.removes)
			}
		}
	})
}

func missesEngines(m *model, report reporter) {
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		for _, h := range c.hosts {
			for _, r := range h.routes {
				taken := r.takenBy(paths(f))
				if off, _ := c.offFor(f, r); off || len(taken) == 0 || r.pattern != "" {
					continue
				}
				for _, name := range r.clusters {
					switch cl := p.cluster(name); {
					case cl == nil && p.patched && p.isEngines(c, h):
						report(r.clusterAt, "%s leads to %s, which no patch makes read %s", strings.Join(taken, ", "), name, f.endpointHeader())
					case cl != nil && cl.source == sourceOwn:
						report(r.clusterAt, "%s leads to %s, which does not read %s", strings.Join(taken, ", "), name, f.endpointHeader())
					}
				}
			}
		}
	})
}

// isEngines reports whether a virtual host is meant for engines: it leads to some, or no
// other one does.
func (p *proxy) isEngines(c *chain, h *virtualHost) bool {
	leads := func(h *virtualHost) bool { return slices.ContainsFunc(h.routes, p.toEngines) }
	return leads(h) || !slices.ContainsFunc(c.hosts, leads)
}

func routeMissing(m *model, report reporter) {
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		if p.host != hostEnvoy || len(c.hosts) == 0 {
			return
		}
		for _, path := range paths(f) {
			if !slices.ContainsFunc(c.hosts, func(h *virtualHost) bool { return h.routeOf(path) != nil }) {
				if r := c.conditionally(path); r != nil {
					report(r.at.Get("match"), "no route takes %s by its path alone: this one asks for %s too", path, strings.Join(r.asks, ", "))
					continue
				}
				report(c.hosts[0].at.Get("routes"), "no route takes %s", path)
			}
		}
	})
}

// transportRetry reports whether a filter names further engines.
func transportRetry(f *filter) (on, known bool) {
	if f.plugin.config == nil || f.plugin.config.spec == nil {
		return false, false
	}
	return f.plugin.config.spec.TransportRetry, true
}

// retriesTransport reports whether a route tries again when an engine cannot be reached.
func retriesTransport(on string) bool {
	return slices.ContainsFunc(strings.Split(on, ","), func(word string) bool {
		return slices.Contains([]string{"connect-failure", "reset", "reset-before-request", "5xx", "gateway-error", "refused-stream"}, strings.TrimSpace(word))
	})
}

func retryUnused(m *model, report reporter) {
	m.eachRoute(func(p *proxy, _ *chain, f *filter, r *route) {
		if on, _ := transportRetry(f); on && p.toEngines(r) && !retriesTransport(r.retryOn) {
			at := r.retryAt
			if !at.Exists() {
				at = r.at.Get("route", "retry_policy")
			}
			report(at, "the filter names further engines, the route does not try again when one cannot be reached")
		}
	})
}

func retryUnnamed(m *model, report reporter) {
	m.eachRoute(func(p *proxy, _ *chain, f *filter, r *route) {
		if on, known := transportRetry(f); on || !known || r.retryOn == "" || p.sourceOf(r) != sourceOverride {
			return
		}
		at := r.retryAt
		if !at.Exists() {
			at = r.at.Get("retries")
		}
		report(at, "the route tries again on %s, the filter names one engine", r.retryOn)
	})
}

func retrySame(m *model, report reporter) {
	m.eachRoute(func(p *proxy, _ *chain, f *filter, r *route) {
		if r.retryOn != "" && p.sourceOf(r) == sourceOriginal && !modeIs(f, spec.EndpointOverrideHost) {
			report(r.retryAt, "the route tries again on %s", r.retryOn)
		}
	})
}

// sourceOf is how the cluster of a route finds the endpoint.
func (p *proxy) sourceOf(r *route) source {
	for _, name := range r.clusters {
		if c := p.cluster(name); c != nil && c.source != sourceOwn {
			return c.source
		}
	}
	return sourceOwn
}

// modeIs reports whether a filter is known to have an endpoint mode.
func modeIs(f *filter, mode string) bool {
	c := f.plugin.config
	return c != nil && c.spec != nil && c.spec.EndpointMode == mode
}
