package doctor

import "github.com/pointsman/pointsman/core/spec"

func bodyRules() []Rule {
	return []Rule{
		{
			Name: "buffer-limit", Severity: Error, Looks: "a listener that holds less than the largest body",
			Why: "Envoy answers 413 before the filter has seen the body; its own limit is 1 MiB, Envoy Gateway's 32 KiB", Source: "envoy.md 4.2", check: bufferLimit,
			Fix: "set per_connection_buffer_limit_bytes above max_body_bytes, 34603008 for the default (connection.bufferLimit of a ClientTrafficPolicy on Envoy Gateway), or lower max_body_bytes",
		},
		{
			Name: "route-buffer-limit", Severity: Error, Looks: "a request_body_buffer_limit of a route below the largest body",
			Why: "it wins over the listener's limit, so larger bodies get 413", Source: "envoy.md 4.2", Fix: "raise it above max_body_bytes, or remove it", check: routeBufferLimit,
		},
	}
}

// maxBody is the largest body that a filter takes.
func maxBody(f *filter) uint64 {
	if c := f.plugin.config; c != nil && c.spec != nil {
		return *c.spec.MaxBodyBytes
	}
	return spec.MaxBody
}

func bufferLimit(m *model, report reporter) {
	m.eachChain(func(p *proxy, c *chain, f *filter) {
		limit, most := c.listener.buffer, maxBody(f)
		if limit.value > most || !f.plugin.canPause || p.routesHold(c, most) {
			return
		}
		at := limit.at
		if !limit.set && p.host == hostEnvoy {
			at = c.listener.at.Get("per_connection_buffer_limit_bytes")
		}
		report(at, "the listener holds %d bytes of a body, the filter takes up to %d", limit.value, most)
	})
}

// routesHold reports whether limits of routes stand in for the listener's, as they do
// from 1.37 on.
func (p *proxy) routesHold(c *chain, most uint64) bool {
	if p.version == nil || p.version.before(37) || len(c.hosts) == 0 {
		return false
	}
	for _, h := range c.hosts {
		for _, r := range h.routes {
			if max(r.bodyLimit.value, h.bodyLimit.value) <= most {
				return false
			}
		}
	}
	return true
}

func routeBufferLimit(m *model, report reporter) {
	m.eachRoute(func(_ *proxy, _ *chain, f *filter, r *route) {
		for _, limit := range []number{r.bodyLimit, r.host.bodyLimit} {
			if limit.set && limit.value <= maxBody(f) {
				report(limit.at, "the route holds %d bytes of a body, the filter takes up to %d", limit.value, maxBody(f))
			}
			if limit.set {
				return
			}
		}
	})
}
