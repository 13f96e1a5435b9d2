package doctor

import "github.com/pointsman/pointsman/core/spec"

func pluginRules() []Rule {
	return []Rule{
		{
			Name: "header-pause", Severity: Error, Looks: "allow_on_headers_stop_iteration is not true",
			Why: "Envoy then never shows the body of a held request: the filter falls back to routing by headers, and the prompt counts for nothing", Source: "envoy.md 4.1",
			Fix: "set allow_on_headers_stop_iteration: true beside vm_config; Envoy has it from 1.35 on", check: headerPause,
		},
		{
			Name: "header-only", Severity: Note, Looks: "a manifest that cannot set the header-pause flag",
			Why: "the filter decides by headers alone: x-pointsman-model, session headers and content-length", Source: "envoy.md 9.1, 9.2",
			Fix: "nothing, if that is meant; else insert the filter by an EnvoyFilter or an EnvoyPatchPolicy with the flag", check: headerOnly,
		},
		{
			Name: "body-needed", Severity: Error, Looks: "settings that go by the body where the filter will not see it",
			Why: "requests are routed as if the setting were not there", check: bodyNeeded,
			Fix: "insert the filter by an EnvoyFilter or an EnvoyPatchPolicy with allow_on_headers_stop_iteration, or use settings that go by headers",
		},
		{
			Name: "plugin-without-config", Severity: Error, Looks: "the filter without its configuration",
			Why: "the filter does not start without one", Fix: "give it as configuration: a google.protobuf.StringValue with the JSON text",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					if f.plugin.config == nil {
						report(f.plugin.configAt, "no configuration of the filter is there")
					}
				})
			},
		},
		{
			Name: "server-mode", Severity: Error, Looks: "a WasmPlugin for inbound listeners, with a state service or aborts",
			Why: "callouts of such a plugin cannot reach outbound clusters: each one fails at once", Source: "peers.md 7", Fix: "leave match out, and select the gateway's pods",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					c := f.plugin.config
					if f.plugin.serverAt.Exists() && c != nil && c.spec != nil && (c.spec.State != nil || c.spec.Abort != nil) {
						report(f.plugin.serverAt, "the plugin is for inbound listeners")
					}
				})
			},
		},
		{
			Name: "vm-id", Severity: Warning, Looks: "several listeners whose filters have different vm_ids, with a policy that goes by history",
			Why: "contexts share what they know of prompts by vm_id: each listener then learns alone", Source: "design section 5b", Fix: "give them one vm_id", check: vmIDs,
		},
	}
}

func headerPause(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		if f.plugin.canPause && !f.plugin.pause {
			report(f.plugin.pauseAt, "the header-pause flag is missing")
		}
	})
}

func headerOnly(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		told := f.plugin.config != nil && f.plugin.config.spec != nil && len(needs(f.plugin.config.spec)) > 0
		if !f.plugin.canPause && !told {
			report(f.plugin.pauseAt, "this kind of manifest has no header-pause flag: the filter routes by headers")
		}
	})
}

func bodyNeeded(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		if f.plugin.canPause || f.plugin.config == nil || f.plugin.config.spec == nil {
			return
		}
		at := f.plugin.config.at
		for _, n := range needs(f.plugin.config.spec) {
			report(at.Find(n.path), "%s needs the body, which this manifest does not let the filter see", n.what)
		}
	})
}

func vmIDs(m *model, report reporter) {
	for _, p := range m.proxies {
		var first *filter
		one := &model{proxies: []*proxy{p}}
		one.eachPlugin(func(_ *proxy, f *filter) {
			switch {
			case f.plugin.config == nil || !usesHistory(f.plugin.config.spec):
			case first == nil:
				first = f
			case f.plugin.vmID.Text() != first.plugin.vmID.Text():
				report(f.plugin.vmID, "the vm_id is %q here and %q at line %d", f.plugin.vmID.Text(), first.plugin.vmID.Text(), first.plugin.vmID.Line)
			}
		})
	}
}

func usesHistory(s *spec.Config) bool {
	found := false
	eachPolicy(s, func(_ string, p *spec.Policy) {
		found = found || p.Type == spec.PolicyCacheAware && p.Source == "history"
	})
	return found
}
