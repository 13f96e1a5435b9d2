// Package istio renders the manifests for an Istio gateway: routing by bodies with
// an EnvoyFilter, or by headers alone with a WasmPlugin. It checks manifests against
// Istio's own types, and the patches in them against Envoy's.
package istio
