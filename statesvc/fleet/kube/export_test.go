package kube

import (
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	discovery "k8s.io/api/discovery/v1"
)

// Claims applies the rules of a configuration to slices.
func Claims(c config.KubernetesDiscovery, list ...*discovery.EndpointSlice) ([]claims.Claim, []string) {
	prefill, _ := config.EqualityTerms(c.PrefillSelector)
	decode, _ := config.EqualityTerms(c.DecodeSelector)
	r := rules{prefill: prefill, decode: decode, port: c.Port, maxStringBytes: 256}
	return r.claims(list)
}
