// Package envoy renders a complete bootstrap for a stock Envoy, and checks YAML
// against Envoy's own types.
package envoy
