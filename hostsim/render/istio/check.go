package istio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	extensions "istio.io/api/extensions/v1alpha1"
	networking "istio.io/api/networking/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a Kubernetes object, read strictly but for its spec.
type object struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     json.RawMessage   `json:"spec"`
}

// Check reads manifests of Istio's into the types that they stand for, and the
// patches of an EnvoyFilter into Envoy's. Unknown kinds, unknown fields and values of
// the wrong type are errors, as are extensions whose values Envoy's rules refuse.
func Check(text []byte) error {
	documents, err := render.Documents(text)
	if err != nil {
		return err
	}
	var problems []error
	for i, d := range documents {
		var o object
		dec := json.NewDecoder(bytes.NewReader(d))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			problems = append(problems, fmt.Errorf("document %d: %w", i+1, err))
			continue
		}
		if err := o.check(); err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, err))
		}
	}
	return errors.Join(problems...)
}

// message is what a kind's spec is read into.
func message(api string) (proto.Message, bool) {
	switch api {
	case "networking.istio.io/v1 Gateway":
		return &networking.Gateway{}, true
	case "networking.istio.io/v1 VirtualService":
		return &networking.VirtualService{}, true
	case "networking.istio.io/v1 ServiceEntry":
		return &networking.ServiceEntry{}, true
	case "networking.istio.io/v1 DestinationRule":
		return &networking.DestinationRule{}, true
	case "networking.istio.io/v1alpha3 EnvoyFilter":
		return &networking.EnvoyFilter{}, true
	case "extensions.istio.io/v1alpha1 WasmPlugin":
		return &extensions.WasmPlugin{}, true
	}
	return nil, false
}

func (o *object) check() error {
	spec, ok := message(o.APIVersion + " " + o.Kind)
	if !ok {
		return fmt.Errorf("%s is not a kind that is checked", o.APIVersion)
	}
	if err := protojson.Unmarshal(o.Spec, spec); err != nil {
		return fmt.Errorf("not what Istio reads: %w", err)
	}
	filter, ok := spec.(*networking.EnvoyFilter)
	if !ok {
		return nil
	}
	var problems []error
	for i, p := range filter.ConfigPatches {
		if err := patch(p); err != nil {
			problems = append(problems, fmt.Errorf("configPatches[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

// patch checks the value of a patch against Envoy's type of what it applies to.
func patch(p *networking.EnvoyFilter_EnvoyConfigObjectPatch) error {
	if p.Patch.GetValue() == nil {
		return nil
	}
	raw, err := protojson.Marshal(p.Patch.Value)
	if err != nil {
		return fmt.Errorf("read the value: %w", err)
	}
	into, ok := patched(p.ApplyTo)
	if !ok {
		return fmt.Errorf("patches of %s are not checked", p.ApplyTo)
	}
	if p.Patch.Operation == networking.EnvoyFilter_Patch_MERGE {
		return envoy.CheckPart(raw, into)
	}
	return envoy.Check(raw, into)
}

func patched(at networking.EnvoyFilter_ApplyTo) (proto.Message, bool) {
	switch at { //nolint:exhaustive // only what manifests of ours may hold
	case networking.EnvoyFilter_LISTENER:
		return &listenerv3.Listener{}, true
	case networking.EnvoyFilter_NETWORK_FILTER:
		return &listenerv3.Filter{}, true
	case networking.EnvoyFilter_HTTP_FILTER:
		return &hcmv3.HttpFilter{}, true
	case networking.EnvoyFilter_CLUSTER:
		return &clusterv3.Cluster{}, true
	case networking.EnvoyFilter_EXTENSION_CONFIG:
		return &corev3.TypedExtensionConfig{}, true
	case networking.EnvoyFilter_HTTP_ROUTE:
		return &routev3.Route{}, true
	}
	return nil, false
}
