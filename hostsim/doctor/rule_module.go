package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

func moduleRules() []Rule {
	return []Rule{
		{
			Name: "wasm-code", Severity: Error, Looks: "a plugin without a module",
			Why: "nothing can be loaded: the listener is refused, or the control plane leaves the filter out", Fix: "name the module: local.filename, remote.http_uri.uri, or url where the manifest has it",
			check: func(m *model, report reporter) {
				m.eachPlugin(func(_ *proxy, f *filter) {
					if c := f.plugin.code; c.local == "" && c.url == "" && !c.inline {
						report(first(c.at.Get("local", "filename"), c.at), "no module is named")
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
	}
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
