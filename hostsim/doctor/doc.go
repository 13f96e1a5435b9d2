// Package doctor reads the configuration of a proxy and of what stands around it, and
// reports what would fail in silence once it is deployed.
//
// It works in three steps. The readers (read*.go) turn files into documents and hold
// them against the types of their kinds. The extractors (envoy_*.go, istio_*.go,
// gateway_*.go) make of all documents together one model of what each proxy will do:
// listeners, filters, routes and clusters with the defaults of their host filled in.
// The rules (rule_*.go) look at that model only, so that each is written once and
// holds for a bootstrap, a configuration dump and a set of patches alike.
//
// RULES.md lists all rules. Facts about Envoy are those of envoy.md; a rule names its
// section.
package doctor
