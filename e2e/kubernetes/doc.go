// Package kubernetes tests the shipped Helm chart and kustomize base with Helm's and
// kustomize's own engines. It is a module of its own, so that nothing of theirs is
// among the dependencies of the product.
package kubernetes
