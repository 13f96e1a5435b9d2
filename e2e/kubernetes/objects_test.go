package kubernetes_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kinds are the types of the API that the manifests may have.
func kinds() map[string]func() any {
	return map[string]func() any{
		"v1 ConfigMap":                                    func() any { return new(corev1.ConfigMap) },
		"v1 Service":                                      func() any { return new(corev1.Service) },
		"v1 ServiceAccount":                               func() any { return new(corev1.ServiceAccount) },
		"apps/v1 Deployment":                              func() any { return new(appsv1.Deployment) },
		"networking.k8s.io/v1 NetworkPolicy":              func() any { return new(networkingv1.NetworkPolicy) },
		"policy/v1 PodDisruptionBudget":                   func() any { return new(policyv1.PodDisruptionBudget) },
		"rbac.authorization.k8s.io/v1 Role":               func() any { return new(rbacv1.Role) },
		"rbac.authorization.k8s.io/v1 RoleBinding":        func() any { return new(rbacv1.RoleBinding) },
		"rbac.authorization.k8s.io/v1 ClusterRole":        func() any { return new(rbacv1.ClusterRole) },
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding": func() any { return new(rbacv1.ClusterRoleBinding) },
		"monitoring.coreos.com/v1 ServiceMonitor":         func() any { return new(map[string]any) },
	}
}

// decode reads every document strictly into its type, by kind and name.
func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	objects := map[string]any{}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err)
		var head struct {
			APIVersion string                `json:"apiVersion"`
			Kind       string                `json:"kind"`
			Metadata   struct{ Name string } `json:"metadata"`
		}
		require.NoError(t, yaml.Unmarshal(document, &head), string(document))
		if head.Kind == "" {
			continue
		}
		create, ok := kinds()[head.APIVersion+" "+head.Kind]
		require.True(t, ok, "%s %s", head.APIVersion, head.Kind)
		object := create()
		require.NoError(t, yaml.UnmarshalStrict(document, object), string(document))
		name := fmt.Sprintf("%s/%s", head.Kind, head.Metadata.Name)
		require.NotContains(t, objects, name)
		objects[name] = object
	}
}
