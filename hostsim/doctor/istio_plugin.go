package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// wasmPlugin reads a WasmPlugin, which has no header-pause flag (envoy.md 9.1).
func (r *istioReader) wasmPlugin(o manifest) {
	p := &plugin{at: o.spec, pauseAt: o.spec.Get("url"), runtime: o.spec.Get("runtime"), vmID: o.spec.Get("vm_id")}
	p.failureAt = o.spec.Get("failStrategy")
	switch p.failureAt.Text() {
	case "FAIL_OPEN":
		p.failure = failOpen
	case "FAIL_RELOAD":
		p.failure = failReload
	default:
		p.failure = failClosed
	}
	p.code = imageCode(o.spec.Get("url"), o.spec.Get("sha256"))
	for _, e := range o.spec.Get("vmConfig", "env").Items() {
		p.env = append(p.env, e.Get("name").Text())
	}
	for _, match := range o.spec.Get("match").Items() {
		if mode := match.Get("mode"); mode.Text() == "SERVER" {
			p.serverAt = mode
		}
	}
	p.configAt = o.spec.Get("pluginConfig")
	p.configTree(p.configAt)
	p.ours = p.ours || named(p.code.url, o.name, o.spec.Get("pluginName").Text())
	if p.config != nil {
		r.filters = append(r.filters, p.config)
	}
	if p.ours {
		r.target(o, o.spec.Get("selector", "matchLabels"))
	}
	f := &filter{name: o.name, kind: "Wasm", at: o.at, body: o.spec, plugin: p}
	r.chain.filters = slices.Insert(r.chain.filters, r.phase(o.spec.Get("phase").Text()), f)
}

// phase is the place of a phase among the filters Istio generates: AUTHN and AUTHZ
// plugins stand before the filters of that name.
func (r *istioReader) phase(phase string) int {
	kind := map[string]string{"AUTHN": "JwtAuthentication", "AUTHZ": "RBAC"}[phase]
	if kind == "" {
		kind = "Router"
	}
	return max(slices.IndexFunc(r.chain.filters, func(f *filter) bool { return f.kind == kind }), 0)
}

// imageCode is a module that a control plane fetches. No scheme is an OCI image; an
// image may be named by its digest.
func imageCode(url, sha256 tree.At) code {
	c := code{at: url, url: url.Text(), sha256: sha256}
	scheme, rest, found := strings.Cut(c.url, "://")
	switch {
	case found && scheme == "file":
		c.local = rest
	case !found || scheme == "oci":
		c.remote, c.image = true, true
	default:
		c.remote = true
	}
	return c
}
