package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	sigsjson "sigs.k8s.io/json"
)

// Kind names a type of the API.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// kinds are the types that manifests of this package may have.
func kinds() map[Kind]any {
	return map[Kind]any{
		{"v1", "ConfigMap"}:                                    new(corev1.ConfigMap),
		{"v1", "Service"}:                                      new(corev1.Service),
		{"v1", "ServiceAccount"}:                               new(corev1.ServiceAccount),
		{"apps/v1", "Deployment"}:                              new(appsv1.Deployment),
		{"networking.k8s.io/v1", "NetworkPolicy"}:              new(networkingv1.NetworkPolicy),
		{"policy/v1", "PodDisruptionBudget"}:                   new(policyv1.PodDisruptionBudget),
		{"rbac.authorization.k8s.io/v1", "Role"}:               new(rbacv1.Role),
		{"rbac.authorization.k8s.io/v1", "RoleBinding"}:        new(rbacv1.RoleBinding),
		{"rbac.authorization.k8s.io/v1", "ClusterRole"}:        new(rbacv1.ClusterRole),
		{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"}: new(rbacv1.ClusterRoleBinding),
	}
}

// Check reads a document into the type that its apiVersion and kind name. Unknown
// kinds, unknown keys, keys in another case and values of the wrong type are errors.
func Check(document json.RawMessage) error {
	kind, err := KindOf(document)
	if err != nil {
		return err
	}
	into, ok := kinds()[kind]
	if !ok {
		return fmt.Errorf("%s %s: no kind that is known here", kind.APIVersion, kind.Kind)
	}
	return Strict(document, into)
}

// KindOf reads a document's apiVersion and kind.
func KindOf(document json.RawMessage) (Kind, error) {
	var kind Kind
	if err := json.Unmarshal(document, &kind); err != nil {
		return kind, fmt.Errorf("no object of Kubernetes: %w", err)
	}
	if kind.APIVersion == "" || kind.Kind == "" {
		return kind, errors.New("no object of Kubernetes: apiVersion or kind is missing")
	}
	return kind, nil
}

// Strict reads a document into a type of a Kubernetes API, as an API server does that
// refuses unknown and duplicate keys.
func Strict(document json.RawMessage, into any) error {
	unknown, err := sigsjson.UnmarshalStrict(document, into)
	if err = errors.Join(append(unknown, err)...); err != nil {
		kind, _ := KindOf(document)
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	return nil
}
