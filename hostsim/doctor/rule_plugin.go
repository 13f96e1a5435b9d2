package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

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
		{
			Name: "wasm-sha256", Severity: Error, Looks: "a module that is fetched over HTTP without a hash",
			Why: "Envoy refuses remote code without one, and nobody else knows what it fetched", Fix: "set sha256 to that of dist/filter.wasm (sha256sum dist/filter.wasm)",
			check: func(m *model, report reporter) { unhashed(m, false, report) },
		},
		{
			Name: "wasm-tag", Severity: Note, Looks: "an image that is named by a tag alone",
			Why: "the tag may be another module tomorrow, on some proxies before others", Fix: "name the image by its digest, or set sha256",
			check: func(m *model, report reporter) { unhashed(m, true, report) },
		},
		{
			Name: "wasm-hash", Severity: Error, Looks: "a hash that is not that of the module",
			Why: "the fetch is refused and the proxy goes on as its failure policy says", Fix: "write the hash of the module that is deployed", check: wrongHash,
		},
		{
			Name: "wasm-runtime", Severity: Error, Looks: "a runtime other than V8",
			Why: "the official builds of Envoy have V8 only; elsewhere the filter was never run", Source: "envoy.md 1.7", Fix: "set runtime: envoy.wasm.runtime.v8",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					if r := f.plugin.runtime.Text(); r != "" && r != "envoy.wasm.runtime.v8" && r != "v8" {
						report(f.plugin.runtime, "the runtime is %s", r)
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

func unhashed(m *model, image bool, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		c := f.plugin.code
		if c.remote && c.image == image && c.sha256.Text() == "" && !(c.image && strings.Contains(c.url, "@sha256:")) {
			report(c.sha256, "%s is fetched without a hash", c.url)
		}
	})
}

func wrongHash(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		at := f.plugin.code.sha256
		want := strings.ToLower(at.Text())
		if want == "" {
			return
		}
		if _, err := hex.DecodeString(want); err != nil || len(want) != 2*sha256.Size {
			report(at, "%q is no SHA-256 in hexadecimal", want)
			return
		}
		same := slices.ContainsFunc(m.modules, func(o module) bool { return o.sha256 == want })
		if f.plugin.code.image || same || len(m.modules) == 0 {
			return // an image's hash is that of its manifest
		}
		report(at, "%s has the hash %s", m.modules[0].file, m.modules[0].sha256)
	})
}

// readModules reads the modules that manifests with a hash name by their path.
func (m *model) readModules(read func(string) ([]byte, error)) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		name := f.plugin.code.local
		known := slices.ContainsFunc(m.modules, func(o module) bool { return o.file == name })
		if name == "" || known || f.plugin.code.sha256.Text() == "" {
			return
		}
		if data, err := read(name); err == nil {
			sum := sha256.Sum256(data)
			m.modules = append(m.modules, module{name, hex.EncodeToString(sum[:])})
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
