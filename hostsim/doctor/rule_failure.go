package doctor

func failureRules() []Rule {
	return []Rule{
		{
			Name: "failure-policy", Severity: Warning, Looks: "no failure_policy",
			Why: "a VM that died stays dead and every request is answered 503 until Envoy restarts", Source: "envoy.md 1.7", Fix: "set failure_policy: FAIL_RELOAD",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					if f.plugin.failure == failUnset {
						report(f.plugin.failureAt, "no failure policy is set, which Envoy takes for FAIL_CLOSED")
					}
				})
			},
		},
		{
			Name: "fail-open", Severity: Warning, Looks: "requests pass the filter by when its VM died",
			Why: "they go on without an endpoint: an ORIGINAL_DST cluster answers 503, override_host lets its fallback policy choose, without caps or sessions, and no client may have removed the routing headers", Source: "envoy.md 1.7",
			Fix: "use FAIL_RELOAD (failStrategy: FAIL_RELOAD on Istio), which starts a new VM", check: failsOpen,
		},
		{
			Name: "fail-closed", Severity: Note, Looks: "requests are refused when the VM died",
			Why: "every request gets 503 until the proxy restarts or gets a new configuration", Fix: "nothing, if that is meant; FAIL_RELOAD starts a new VM where the manifest offers it",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					if f.plugin.failure == failClosed {
						report(f.plugin.failureAt, "the filter fails closed")
					}
				})
			},
		},
	}
}

func failsOpen(m *model, report reporter) {
	m.eachPlugin(func(p *proxy, f *filter) {
		if f.plugin.failure != failOpen {
			return
		}
		goes := "where their route leads"
		for _, c := range p.clusters {
			if c.source == sourceOriginal {
				goes = "to cluster " + c.name + ", which answers 503 without an endpoint"
			}
		}
		report(f.plugin.failureAt, "with a dead VM requests go on without an endpoint, %s", goes)
	})
}
