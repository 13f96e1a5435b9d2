package envoygateway

import (
	"encoding/json"
	"fmt"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Versions of the APIs.
const (
	gatewayAPI   = "gateway.networking.k8s.io/v1"
	envoyGateway = "gateway.envoyproxy.io/v1alpha1"
)

// kinds are the types that manifests of this package may have.
func kinds() map[kubernetes.Kind]any {
	return map[kubernetes.Kind]any{
		{APIVersion: gatewayAPI, Kind: "GatewayClass"}:           new(gwapiv1.GatewayClass),
		{APIVersion: gatewayAPI, Kind: "Gateway"}:                new(gwapiv1.Gateway),
		{APIVersion: gatewayAPI, Kind: "HTTPRoute"}:              new(gwapiv1.HTTPRoute),
		{APIVersion: envoyGateway, Kind: "EnvoyProxy"}:           new(egv1a1.EnvoyProxy),
		{APIVersion: envoyGateway, Kind: "Backend"}:              new(egv1a1.Backend),
		{APIVersion: envoyGateway, Kind: "EnvoyExtensionPolicy"}: new(egv1a1.EnvoyExtensionPolicy),
		{APIVersion: envoyGateway, Kind: "BackendTrafficPolicy"}: new(egv1a1.BackendTrafficPolicy),
		{APIVersion: envoyGateway, Kind: "ClientTrafficPolicy"}:  new(egv1a1.ClientTrafficPolicy),
		{APIVersion: envoyGateway, Kind: "EnvoyPatchPolicy"}:     new(egv1a1.EnvoyPatchPolicy),
	}
}

// Check reads a document into the type that its apiVersion and kind name, and what an
// EnvoyPatchPolicy puts into Envoy's configuration into the types of that. Unknown kinds
// and keys and values of the wrong type are errors.
func Check(document json.RawMessage) error {
	kind, err := kubernetes.KindOf(document)
	if err != nil {
		return err
	}
	into, ok := kinds()[kind]
	if !ok {
		return fmt.Errorf("%s %s: no kind that is known here", kind.APIVersion, kind.Kind)
	}
	if err := kubernetes.Strict(document, into); err != nil {
		return err
	}
	policy, ok := into.(*egv1a1.EnvoyPatchPolicy)
	if !ok {
		return nil
	}
	for i, p := range policy.Spec.JSONPatches {
		if err := checkPatch(p); err != nil {
			return fmt.Errorf("EnvoyPatchPolicy: jsonPatches[%d]: %w", i, err)
		}
	}
	return nil
}

// checkPatch reads a patch's value into the type that the place has which it is added to.
func checkPatch(p egv1a1.EnvoyJSONPatchConfig) error {
	o := p.Operation
	path, value := "", []byte("null")
	if o.Path != nil {
		path = *o.Path
	}
	if o.Value != nil {
		value = o.Value.Raw
	}
	switch {
	case p.Type == egv1a1.ClusterEnvoyResourceType && path == "":
		return envoy.Check(value, &clusterv3.Cluster{})
	case p.Type == egv1a1.ClusterEnvoyResourceType:
		var filters []json.RawMessage
		if err := json.Unmarshal(value, &filters); err != nil {
			return fmt.Errorf("http_filters: %w", err)
		}
		for _, f := range filters {
			if err := envoy.Check(f, &hcmv3.HttpFilter{}); err != nil {
				return err
			}
		}
		return nil
	}
	// Fields of the plugin: path is the field's name.
	return envoy.Check(fmt.Appendf(nil, `{%q: %s}`, path, value), &wasmv3.PluginConfig{})
}
