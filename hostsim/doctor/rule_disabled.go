package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func disabledRules() []Rule {
	return []Rule{{
		Name: "filter-disabled", Severity: Error, Looks: "the filter switched off for a routed path",
		Why: "requests go by without it: nobody chooses an engine, and a client's routing headers stay",
		Fix: "remove disabled: true, or switch the filter on in typed_per_filter_config of the route", check: filterDisabled,
	}}
}

// switchedBy reads what a typed_per_filter_config says of a filter. Any entry but one
// that disables it switches it on.
func switchedBy(settings tree.At, name string) (off bool, at tree.At, said bool) {
	entry := settings.Field(name)
	if !entry.Exists() {
		return false, entry, false
	}
	if kind, body := messageOf(entry); kind == "FilterConfig" {
		if d := body.Get("disabled"); d.True() {
			return true, d, true
		}
	}
	return false, entry, true
}

// offFor reports whether a filter is switched off for a route, and where. What is nearest
// to the route counts.
func (c *chain) offFor(f *filter, r *route) (off bool, at tree.At) {
	off, at = f.disabled.True(), f.disabled
	settings := slices.Clone(c.settings)
	if r.host != nil {
		settings = append(settings, r.host.settings...)
	}
	for _, s := range append(settings, r.settings...) {
		if o, place, said := switchedBy(s, f.name); said {
			off, at = o, place
		}
	}
	return off, at
}

// enabled reports whether some route of a chain has the filter.
func (c *chain) enabled(f *filter) bool {
	return slices.ContainsFunc(c.hosts, func(h *virtualHost) bool {
		return slices.ContainsFunc(h.routes, func(r *route) bool {
			off, _ := c.offFor(f, r)
			return !off
		})
	})
}

func filterDisabled(m *model, report reporter) {
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		switch elsewhere := c.routeName != "" && len(c.hosts) == 0 && !p.complete; {
		case elsewhere:
		case f.disabled.True() && !c.enabled(f):
			report(f.disabled, "the filter is disabled, and no route switches it on")
		default:
			p.disabledRoutes(c, f, report)
		}
	})
}

// disabledRoutes reports routes that lead routed paths to engines without the filter.
func (p *proxy) disabledRoutes(c *chain, f *filter, report reporter) {
	for _, h := range c.hosts {
		for _, r := range h.routes {
			off, at := c.offFor(f, r)
			if !off || !p.toEngines(r) {
				continue
			}
			if taken := r.takenBy(paths(f)); len(taken) > 0 {
				report(at, "%s: the filter is disabled", strings.Join(taken, ", "))
			}
		}
	}
}
