package doctor

import (
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// readPlugin reads Envoy's configuration of a wasm plugin (envoy.md 1.7).
func readPlugin(at tree.At) *plugin {
	vm := at.Get("vm_config")
	p := &plugin{
		at: at, canPause: true,
		pause:   at.Get("allow_on_headers_stop_iteration").True(),
		pauseAt: at.Get("allow_on_headers_stop_iteration"),
		runtime: vm.Get("runtime"),
		vmID:    vm.Get("vm_id"),
		code:    readCode(vm.Get("code")),
		allowed: at.Get("capability_restriction_config", "allowed_capabilities"),
	}
	p.failureAt = at.Get("failure_policy")
	p.failure = failureOf(p.failureAt)
	if old := at.Get("fail_open"); p.failure == failUnset && old.Exists() {
		p.failureAt, p.failure = old, failClosed
		if old.True() {
			p.failure = failOpen
		}
	}
	environment := vm.Get("environment_variables")
	p.env = append(texts(environment.Get("host_env_keys")), environment.Get("key_values").Keys()...)
	p.configure(at.Get("configuration"))
	p.ours = p.ours || named(p.code.local, p.code.url, at.Get("name").Text(), at.Get("root_id").Text(), p.vmID.Text())
	if !p.ours {
		p.config = nil
	}
	return p
}

// failureOf reads Envoy's word for what becomes of requests.
func failureOf(at tree.At) failure {
	return map[string]failure{"FAIL_RELOAD": failReload, "FAIL_OPEN": failOpen, "FAIL_CLOSED": failClosed}[at.Text()]
}

// named reports whether a name is one that the shipped manifests give the filter.
func named(names ...string) bool {
	for _, n := range names {
		if strings.Contains(strings.ToLower(n), "pointsman") {
			return true
		}
	}
	return false
}

func readCode(at tree.At) code {
	local := at.Get("local")
	c := code{at: at, local: local.Get("filename").Text()}
	c.inline = local.Get("inline_bytes").Exists() || local.Get("inline_string").Exists() || local.Get("environment_variable").Exists()
	if remote := at.Get("remote"); remote.Exists() {
		c.remote, c.at = true, remote
		c.url = remote.Get("http_uri", "uri").Text()
		c.sha256 = remote.Get("sha256")
		c.image = strings.HasPrefix(c.url, "oci://")
	}
	return c
}

// configure reads the plugin's own configuration: a text or a struct in an Any, or
// bare fields.
func (p *plugin) configure(at tree.At) {
	p.configAt = at
	kind, body := messageOf(at)
	switch kind {
	case "StringValue", "BytesValue":
		p.configText(body.Get("value"))
	case "Struct":
		p.configTree(body.Get("value"))
	}
}

// configText reads a configuration that stands in a text.
func (p *plugin) configText(at tree.At) {
	documents, err := tree.Embedded(at)
	if err != nil || len(documents) != 1 {
		if at.Exists() && named(p.at.Get("name").Text(), p.at.Get("root_id").Text()) {
			_, err := spec.Decode([]byte(at.Text()))
			problems, _ := err.(spec.Problems) //nolint:errorlint // Decode documents the type
			p.ours, p.config = true, &filterConfig{at: at, problems: problems}
		}
		return
	}
	root := documents[0].Root
	inner := tree.At{File: at.File, Path: at.Path, Line: root.Line, Node: root}
	if !looksLikeFilter(inner) && !named(p.at.Get("name").Text(), p.at.Get("root_id").Text()) {
		return
	}
	p.ours, p.config = true, decodeFilter(inner, []byte(at.Text()))
}

// configTree reads a configuration that stands in the manifest as it is.
func (p *plugin) configTree(at tree.At) {
	if at.Exists() && looksLikeFilter(at) {
		p.ours, p.config = true, decodeFilter(at, at.Node.JSON())
	}
}

// looksLikeFilter reports whether a document is meant for the filter.
func looksLikeFilter(at tree.At) bool {
	for _, key := range []string{"models", "endpoint_mode", "on_no_state", "workers"} {
		if at.Field(key).Exists() {
			return true
		}
	}
	return false
}

// decodeFilter lets the filter's own decoder judge.
func decodeFilter(at tree.At, text []byte) *filterConfig {
	f := &filterConfig{at: at}
	cfg, err := spec.Decode(text)
	if err == nil {
		f.spec = spec.Defaults(cfg)
		return f
	}
	if problems, ok := err.(spec.Problems); ok { //nolint:errorlint // Decode documents the type
		f.problems = problems
	} else {
		f.problems = spec.Problems{{Reason: err.Error()}}
	}
	return f
}
