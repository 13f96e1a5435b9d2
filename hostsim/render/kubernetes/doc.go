// Package kubernetes renders the state service for a Kubernetes cluster, and checks
// manifests against the API's own types.
//
// The kustomize base in configs/kubernetes/base is what [Base] gives.
package kubernetes
