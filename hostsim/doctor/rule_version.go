package doctor

func versionRules() []Rule {
	return []Rule{
		{
			Name: "version-unsupported", Severity: Error, Looks: "an Envoy before 1.33",
			Why: "it cannot load modules of standard Go", Source: "envoy.md 1.3", Fix: "use Envoy 1.35 or later, best 1.39 or later",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(p *proxy, f *filter) {
					if p.version != nil && p.version.before(33) {
						report(f.at, "this is Envoy %s", p.version)
					}
				})
			},
		},
		{
			Name: "version-degraded", Severity: Error, Looks: "an Envoy 1.33 or 1.34",
			Why: "it has no header-pause flag and refuses or drops it: the filter routes by headers", Source: "envoy.md 15", Fix: "use Envoy 1.35 or later",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(p *proxy, f *filter) {
					if p.version != nil && !p.version.before(33) && p.version.before(35) {
						report(f.plugin.pauseAt, "this is Envoy %s", p.version)
					}
				})
			},
		},
		{
			Name: "version-body-limit", Severity: Error, Looks: "request_body_buffer_limit for an Envoy before 1.36",
			Why: "the field is unknown to it, and it refuses the configuration", Source: "envoy.md 14", Fix: "remove request_body_buffer_limit; the listener's limit is what counts", check: bodyLimitTooNew,
		},
	}
}

func bodyLimitTooNew(m *model, report reporter) {
	m.eachChain(func(p *proxy, c *chain, _ *filter) {
		if p.version == nil || !p.version.before(36) {
			return
		}
		for _, h := range c.hosts {
			for _, at := range []number{h.bodyLimit} {
				if at.set {
					report(at.at, "this is Envoy %s", p.version)
				}
			}
			for _, r := range h.routes {
				if r.bodyLimit.set {
					report(r.bodyLimit.at, "this is Envoy %s", p.version)
				}
			}
		}
	})
}
