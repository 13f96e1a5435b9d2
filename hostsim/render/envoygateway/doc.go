// Package envoygateway renders manifests for Envoy Gateway: what its own API can say
// of the filter, and patches of Envoy's configuration for the rest.
package envoygateway
