package doctor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// reading sorts documents by what reads them.
type reading struct {
	model   *model
	options Options
	rules   []Rule // that readers apply
	istio   []manifest
	gateway []manifest
}

// manifest is a Kubernetes object.
type manifest struct {
	at        tree.At
	kind      string
	name      string
	namespace string
	spec      tree.At
}

// assign gives the routes of the Gateway API to Istio, where manifests of Istio are there
// and none of Envoy Gateway.
func (r *reading) assign() {
	own := func(o manifest) bool {
		return strings.HasPrefix(o.at.Get("apiVersion").Text(), "gateway.envoyproxy.io/")
	}
	if len(r.istio) == 0 || slices.ContainsFunc(r.gateway, own) {
		return
	}
	r.istio, r.gateway = append(r.istio, r.gateway...), nil
}

func (o *manifest) namespaceOrDefault() string {
	if o.namespace == "" {
		return "default"
	}
	return o.namespace
}

func suffixes() []string { return []string{".yaml", ".yml", ".json"} }

func suffix(name string) string { return strings.ToLower(path.Ext(name)) }

// broken notes a finding about the input itself.
func (r *reading) broken(rule string, at tree.At, format string, args ...any) {
	if r.rules == nil {
		r.rules = inputRules()
	}
	for i := range r.rules {
		if r.rules[i].Name == rule {
			r.model.report(&r.rules[i], at, format, args...)
		}
	}
}

func (r *reading) input(in Input) {
	at := tree.At{File: in.Name}
	switch {
	case in.Err != nil:
		r.broken(ruleUnreadable, at, "%s", in.Err)
		return
	case bytes.HasPrefix(in.Data, []byte("\x00asm")):
		sum := sha256.Sum256(in.Data)
		r.model.modules = append(r.model.modules, module{in.Name, hex.EncodeToString(sum[:])})
		r.model.looked++
		return
	}
	read := tree.Read
	if suffix(in.Name) == ".json" {
		read = tree.ReadJSON
	}
	documents, err := read(in.Data)
	if err != nil {
		text := err.Error()
		if bytes.Contains(in.Data, []byte("{{")) {
			text += "; it looks like a template: give doctor its output, as in helm template ... | hostsim doctor -"
		}
		if in.Asked || !bytes.Contains(in.Data, []byte("{{")) {
			r.broken(ruleUnreadable, at, "%s", text)
		}
		return
	}
	for _, d := range documents {
		for _, twice := range d.Duplicates {
			twice.File = in.Name
			r.broken(ruleDuplicate, twice, "stands twice in one mapping")
		}
		r.document(tree.Root(in.Name, d.Root), in.Asked)
	}
}

// document tells what a document is by the keys at its top.
func (r *reading) document(at tree.At, asked bool) {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if at.Field(k).Exists() || at.Field(tree.Camel(k)).Exists() {
				return true
			}
		}
		return false
	}
	switch {
	case at.Node.Kind != tree.Map:
		r.unknown(at, asked, "is %s, not a configuration", at.Node.Kind)
	case has("apiVersion") && has("kind"):
		r.object(at)
	case at.Get("configs", "0", "@type").Exists():
		r.model.looked++
		r.model.dump(at)
	case has("resources") && at.Get("resources", "0", "@type").Exists():
		r.model.looked++
		r.checkResources(at)
		r.model.resources(at)
	case has("static_resources", "dynamic_resources", "bootstrap_extensions", "layered_runtime"):
		r.model.looked++
		r.check(at, "envoy.config.bootstrap.v3.Bootstrap")
		r.model.bootstrap(at)
	case !asked && !has("version"):
		r.skip(at, "unknown")
	case looksLikeFilter(at):
		r.model.looked++
		r.model.filters = append(r.model.filters, decodeFilter(at, at.Node.JSON()))
	case has("fleet", "listen") || has("version") && has("discovery", "tokenize", "kv", "affinity", "health", "load"):
		r.model.looked++
		r.service(at)
	default:
		r.unknown(at, asked, "is none of the configurations that doctor knows")
	}
}

// unknown passes over a document of something else, unless it was asked for.
func (r *reading) unknown(at tree.At, asked bool, format string, args ...any) {
	if asked {
		r.broken(ruleNotKnown, at, format, args...)
		return
	}
	r.skip(at, "unknown")
}

func (r *reading) skip(at tree.At, what string) {
	r.model.skipped = append(r.model.skipped, at.File+": "+what)
}
