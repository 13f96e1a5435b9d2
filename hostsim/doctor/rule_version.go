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
			Name: "version-wheel", Severity: Warning, Looks: "an Envoy 1.38.3",
			Why: "the wheel of that release was built without V8 and cannot run the filter", Source: "envoy.md 0a", Fix: "use 1.38.2",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(p *proxy, f *filter) {
					if p.version != nil && *p.version == (Version{1, 38, 3}) {
						report(f.at, "this is Envoy %s", p.version)
					}
				})
			},
		},
		{
			Name: "version-istio", Severity: Warning, Looks: "an Istio before 1.28",
			Why: "its control plane need not know the header-pause flag and may drop it: the filter then routes by headers", Source: "envoy.md 9.1", Fix: "use Istio 1.28 or later, whose proxies are Envoy 1.36 and later",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(p *proxy, f *filter) {
					if p.istio != nil && p.istio.before(28) {
						report(f.at, "this is Istio %s", p.istio)
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
