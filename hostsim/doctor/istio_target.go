package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// rootNamespace is where a manifest of Istio's holds for every namespace, unless the mesh
// was told of another.
const rootNamespace = "istio-system"

// gatewayNameLabels are what pods of a Gateway of the Gateway API have its name in.
func gatewayNameLabels() []string {
	return []string{"gateway.networking.k8s.io/gateway-name", "istio.io/gateway-name"}
}

// istioGateway is what is known of the pods of a Gateway.
type istioGateway struct {
	name      string
	namespace string
	labels    map[string]string
	// here is true for Gateways of the Gateway API, whose pods run in their namespace.
	// Those of Istio's own kind run anywhere.
	here bool
}

func (r *istioReader) gateways() (list []istioGateway) {
	r.each("Gateway", func(o manifest) {
		g := istioGateway{name: o.name, namespace: o.namespace, labels: map[string]string{}}
		g.here = strings.HasPrefix(o.at.Get("apiVersion").Text(), "gateway.networking.k8s.io/")
		for _, key := range gatewayNameLabels() {
			if g.here {
				g.labels[key] = o.name
			}
		}
		o.spec.Get("selector").Members(func(key string, value tree.At) { g.labels[key] = value.Text() })
		list = append(list, g)
	})
	return list
}

// target compares what a manifest with the filter is for with the Gateways. Without any
// there is nothing to compare.
func (r *istioReader) target(o manifest, labels tree.At) {
	gateways := r.gateways()
	if len(gateways) == 0 {
		return
	}
	fits := func(accept func(istioGateway) bool) bool { return slices.ContainsFunc(gateways, accept) }
	for _, ref := range append(o.spec.Get("targetRefs").Items(), o.spec.Get("targetRef")) {
		name := ref.Get("name")
		if ref.Get("kind").Text() == "Gateway" && !fits(func(g istioGateway) bool { return g.here && g.name == name.Text() && same(g.namespace, o.namespace) }) {
			r.proxy.miss(name, "no Gateway %s of the Gateway API is here in that namespace", name.Text())
		}
	}
	if !fits(func(g istioGateway) bool { return g.selected(labels) }) {
		r.proxy.miss(labels, "no Gateway has these labels")
		return
	}
	if o.namespace == rootNamespace || fits(func(g istioGateway) bool { return g.selected(labels) && same(g.namespace, o.namespace) }) {
		return
	}
	at := o.at.Get("metadata", "namespace")
	if fits(func(g istioGateway) bool { return g.selected(labels) && !g.here }) {
		r.proxy.strays = append(r.proxy.strays, at)
		return
	}
	r.proxy.miss(at, "the pods of the Gateway are in namespace %s", gateways[0].namespace)
}

// same reports whether two namespaces may be one: what is left out is said when the
// manifest is applied.
func same(a, b string) bool { return a == "" || b == "" || a == b }

// selected reports whether labels may select the pods of a Gateway: those that both name
// agree.
func (g istioGateway) selected(labels tree.At) bool {
	agree := true
	labels.Members(func(key string, value tree.At) {
		if own, known := g.labels[key]; known && own != value.Text() {
			agree = false
		}
	})
	return agree
}

// targets compares an EnvoyFilter that puts the filter in, or makes a cluster read the
// endpoint, with the Gateways.
func (r *istioReader) targets(o manifest) {
	concerned := false
	for _, patch := range o.spec.Get("configPatches").Items() {
		if !r.concerns(patch) {
			continue
		}
		concerned = true
		context := patch.Get("match", "context")
		if strings.HasPrefix(context.Text(), "SIDECAR_") && len(r.gateways()) > 0 {
			r.proxy.miss(context, "the patch is for sidecars, and the Gateway's proxies are none")
		}
	}
	if concerned {
		r.target(o, o.spec.Get("workloadSelector", "labels"))
	}
}

// concerns reports whether a patch matters for the filter.
func (r *istioReader) concerns(patch tree.At) bool {
	value := patch.Get("patch", "value")
	switch patch.Get("applyTo").Text() {
	case "HTTP_FILTER", "EXTENSION_CONFIG":
		if named(value.Get("name").Text()) {
			return true
		}
		kind, body := messageOf(value.Get("typed_config"))
		return kind == "Wasm" && readPlugin(body.Get("config")).ours
	case "CLUSTER":
		return readCluster(value, r.proxy.defaults()).source != sourceOwn
	}
	return false
}
