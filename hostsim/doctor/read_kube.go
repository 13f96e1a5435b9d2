package doctor

import (
	"slices"
	"strings"

	egv1 "github.com/envoyproxy/gateway/api/v1alpha1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/pointsman/pointsman/hostsim/doctor/schema"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// object sorts a Kubernetes object by its group and kind, and checks it.
func (r *reading) object(at tree.At) {
	o := manifest{
		at: at, kind: at.Get("kind").Text(), spec: at.Get("spec"),
		name: at.Get("metadata", "name").Text(), namespace: at.Get("metadata", "namespace").Text(),
	}
	group, version, _ := strings.Cut(at.Get("apiVersion").Text(), "/")
	switch {
	case o.kind == "List" || strings.HasSuffix(o.kind, "List") && at.Get("items").Exists():
		for _, item := range at.Get("items").Items() {
			r.document(item, false)
		}
	case !served(group, version, o.kind):
		r.broken(ruleNotKnown, at.Get("apiVersion"), "%s is not served as %s", o.kind, at.Get("apiVersion").Text())
	case group == "networking.istio.io" || group == "extensions.istio.io" || group == "security.istio.io":
		r.model.looked++
		r.checkIstio(o, group)
		r.istio = append(r.istio, o)
	case group == "gateway.envoyproxy.io" || group == "gateway.networking.k8s.io":
		r.model.looked++
		r.checkGateway(o)
		r.gateway = append(r.gateway, o)
	case o.kind == "ConfigMap":
		r.configMap(at)
	default:
		r.skip(at, o.kind)
	}
}

// served reports whether a control plane serves a kind in a group and version. Kinds that
// doctor does not read may be served in any.
func served(group, version, kind string) bool {
	const istio, envoy, api = "networking.istio.io", "gateway.envoyproxy.io", "gateway.networking.k8s.io"
	versions, known := map[string]string{
		istio + "/EnvoyFilter": "v1alpha3", istio + "/VirtualService": "v1 v1beta1 v1alpha3", istio + "/DestinationRule": "v1 v1beta1 v1alpha3",
		istio + "/ServiceEntry": "v1 v1beta1 v1alpha3", istio + "/Gateway": "v1 v1beta1 v1alpha3", "extensions.istio.io/WasmPlugin": "v1alpha1",
		envoy + "/EnvoyExtensionPolicy": "v1alpha1", envoy + "/BackendTrafficPolicy": "v1alpha1", envoy + "/ClientTrafficPolicy": "v1alpha1",
		envoy + "/EnvoyPatchPolicy": "v1alpha1", envoy + "/EnvoyProxy": "v1alpha1", envoy + "/Backend": "v1alpha1",
		api + "/HTTPRoute": "v1 v1beta1", api + "/Gateway": "v1 v1beta1", api + "/GatewayClass": "v1 v1beta1",
	}[group+"/"+kind]
	return !known || slices.Contains(strings.Fields(versions), version)
}

// configMap looks at configurations that a ConfigMap carries.
func (r *reading) configMap(at tree.At) {
	at.Get("data").Members(func(key string, value tree.At) {
		if !slices.Contains(suffixes(), suffix(key)) {
			return
		}
		documents, err := tree.Embedded(value)
		if err != nil {
			r.broken(ruleUnreadable, value, "%s", err)
			return
		}
		for _, d := range documents {
			r.document(tree.At{File: value.File, Path: value.Path, Line: d.Root.Line, Node: d.Root}, false)
		}
	})
}

// checkIstio holds an object of Istio against its message.
func (r *reading) checkIstio(o manifest, group string) {
	messages := map[string]string{
		"EnvoyFilter": "istio.networking.v1alpha3.EnvoyFilter", "VirtualService": "istio.networking.v1alpha3.VirtualService",
		"DestinationRule": "istio.networking.v1alpha3.DestinationRule", "ServiceEntry": "istio.networking.v1alpha3.ServiceEntry",
		"Gateway": "istio.networking.v1alpha3.Gateway", "WasmPlugin": "istio.extensions.v1alpha1.WasmPlugin",
	}
	name, known := messages[o.kind]
	if !known || group == "security.istio.io" {
		return
	}
	r.check(o.spec, name)
	if o.kind == "EnvoyFilter" {
		for _, p := range o.spec.Get("configPatches").Items() {
			if message, ok := patched(p.Get("applyTo").Text()); ok {
				r.check(p.Get("patch", "value"), message)
			}
		}
	}
}

// patched is the message that a patch of a kind is merged into.
func patched(applyTo string) (message string, ok bool) {
	message, ok = map[string]string{
		"LISTENER":            "envoy.config.listener.v3.Listener",
		"FILTER_CHAIN":        "envoy.config.listener.v3.FilterChain",
		"NETWORK_FILTER":      "envoy.config.listener.v3.Filter",
		"HTTP_FILTER":         "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter",
		"ROUTE_CONFIGURATION": "envoy.config.route.v3.RouteConfiguration",
		"VIRTUAL_HOST":        "envoy.config.route.v3.VirtualHost",
		"HTTP_ROUTE":          "envoy.config.route.v3.Route",
		"CLUSTER":             "envoy.config.cluster.v3.Cluster",
		"EXTENSION_CONFIG":    "envoy.config.core.v3.TypedExtensionConfig",
		"BOOTSTRAP":           "envoy.config.bootstrap.v3.Bootstrap",
	}[applyTo]
	return message, ok
}

// checkGateway holds an object of the Gateway API or of Envoy Gateway against its type.
func (r *reading) checkGateway(o manifest) {
	var into any
	switch o.kind {
	case "EnvoyExtensionPolicy":
		into = &egv1.EnvoyExtensionPolicy{}
	case "BackendTrafficPolicy":
		into = &egv1.BackendTrafficPolicy{}
	case "ClientTrafficPolicy":
		into = &egv1.ClientTrafficPolicy{}
	case "EnvoyPatchPolicy":
		into = &egv1.EnvoyPatchPolicy{}
	case "EnvoyProxy":
		into = &egv1.EnvoyProxy{}
	case "Backend":
		into = &egv1.Backend{}
	case "HTTPRoute":
		into = &gatewayv1.HTTPRoute{}
	case "Gateway":
		into = &gatewayv1.Gateway{}
	case "GatewayClass":
		into = &gatewayv1.GatewayClass{}
	default:
		return
	}
	r.problems(schema.Object(o.at, into))
	for _, p := range o.spec.Get("jsonPatches").Items() {
		r.checkPatch(p)
	}
}

// checkPatch checks what a patch of Envoy Gateway adds whole.
func (r *reading) checkPatch(p tree.At) {
	operation := p.Get("operation")
	if path := operation.Get("path").Text(); path != "" && path != "/" || operation.Get("op").Text() != "add" {
		return
	}
	if _, name, ok := strings.Cut(p.Get("type").Text(), "/"); ok {
		r.check(operation.Get("value"), name)
	}
}
