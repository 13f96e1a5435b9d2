package kubernetes_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const configs = "../../configs/kubernetes/"

// template renders the chart as helm template does.
func template(namespace, values string) (map[string]string, error) {
	chart, err := loader.LoadDir(configs + "chart/pointsman")
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "pointsman", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// helm gives the objects of the chart.
func helm(t *testing.T, namespace, values string) map[string]any {
	t.Helper()
	files, err := template(namespace, values)
	require.NoError(t, err)
	var text strings.Builder
	for name, file := range files {
		if strings.HasSuffix(name, ".yaml") {
			text.WriteString("---\n" + file + "\n")
		}
	}
	return decode(t, []byte(text.String()))
}

// kustomize gives the objects of the base.
func kustomize(t *testing.T) map[string]any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), configs+"base")
	require.NoError(t, err)
	text, err := built.AsYaml()
	require.NoError(t, err)
	return decode(t, text)
}

// statesvcOf takes the state service's configuration out of its ConfigMap.
func statesvcOf(t *testing.T, objects map[string]any) map[string]any {
	t.Helper()
	config := objects["ConfigMap/pointsman-state"].(*corev1.ConfigMap)
	var settings map[string]any
	require.NoError(t, yaml.UnmarshalStrict([]byte(config.Data["statesvc.yaml"]), &settings))
	return settings
}

// With its default values the chart gives what the base gives, plus the checksum that
// makes new pods of a new configuration.
func TestChart_equalsBase(t *testing.T) {
	chart, base := helm(t, "pointsman", ""), kustomize(t)
	require.Equal(t, statesvcOf(t, base), statesvcOf(t, chart))
	config := chart["ConfigMap/pointsman-state"].(*corev1.ConfigMap)
	template := &chart["Deployment/pointsman-state"].(*appsv1.Deployment).Spec.Template
	sum := sha256.Sum256([]byte(strings.TrimSpace(config.Data["statesvc.yaml"])))
	require.Equal(t, map[string]string{"checksum/config": hex.EncodeToString(sum[:])}, template.Annotations)

	template.Annotations = nil
	config.Data = base["ConfigMap/pointsman-state"].(*corev1.ConfigMap).Data
	require.Len(t, base, 8)
	require.Empty(t, cmp.Diff(base, chart))
}

// The namespace of the release is everywhere, and only there.
func TestChart_namespace(t *testing.T) {
	files, err := template("inference", "serviceMonitor: {enabled: true}")
	require.NoError(t, err)
	for name, text := range files {
		require.NotContains(t, text, "namespace: pointsman", name)
	}
	objects := helm(t, "inference", "discovery: {namespace: engines}")
	require.Equal(t, "engines", objects["Role/pointsman-state"].(*rbacv1.Role).Namespace)
	binding := objects["RoleBinding/pointsman-state"].(*rbacv1.RoleBinding)
	require.Equal(t, "engines", binding.Namespace)
	require.Equal(t, "inference", binding.Subjects[0].Namespace)
	kubernetes := statesvcOf(t, objects)["discovery"].(map[string]any)["kubernetes"].(map[string]any)
	require.Equal(t, "engines", kubernetes["namespace"])
}

// Every value changes what it says.
func TestChart_values(t *testing.T) {
	objects := helm(t, "pointsman", `
image: {repository: r.example/statesvc, tag: "1.2", pullPolicy: Always}
imagePullSecrets: [{name: pull}]
replicas: 3
port: 7000
appProtocol: https
config: {kv: {enabled: false}, discovery: {dns: {interval_ms: 9000}}}
token: {secretName: tokens, key: state}
tls: {secretName: cert}
discovery: {clusterWide: true, settings: {selector: "tier in (a,b)"}}
podDisruptionBudget: {enabled: false}
networkPolicy: {apiServerPorts: [8443]}
serviceMonitor: {enabled: true, labels: {release: prom}}
goMemLimit: 900MiB
extraVolumes: [{name: tokenizers, persistentVolumeClaim: {claimName: tokenizers}}]
extraVolumeMounts: [{name: tokenizers, mountPath: /tokenizers, readOnly: true}]
podAnnotations: {a: b}
nodeSelector: {pool: cpu}
tolerations: [{key: k, operator: Exists}]
affinity: {nodeAffinity: {}}
`)
	require.NotContains(t, objects, "PodDisruptionBudget/pointsman-state")
	require.Contains(t, objects, "ServiceMonitor/pointsman-state")
	require.Contains(t, objects, "ClusterRole/pointsman-pointsman-state")
	deployment := objects["Deployment/pointsman-state"].(*appsv1.Deployment)
	require.Equal(t, int32(3), *deployment.Spec.Replicas)
	pod := deployment.Spec.Template
	require.Equal(t, "b", pod.Annotations["a"])
	require.Equal(t, "pull", pod.Spec.ImagePullSecrets[0].Name)
	require.Equal(t, "cpu", pod.Spec.NodeSelector["pool"])
	require.Equal(t, "k", pod.Spec.Tolerations[0].Key)
	require.Len(t, pod.Spec.Volumes, 3)
	c := pod.Spec.Containers[0]
	require.Equal(t, "r.example/statesvc:1.2", c.Image)
	require.Equal(t, int32(7000), c.Ports[0].ContainerPort)
	require.Len(t, c.VolumeMounts, 3)
	require.Equal(t, "900MiB", c.Env[0].Value)
	require.Equal(t, "tokens", c.Env[1].ValueFrom.SecretKeyRef.Name)
	require.Equal(t, corev1.URISchemeHTTPS, c.ReadinessProbe.HTTPGet.Scheme)
	port := objects["Service/pointsman-state"].(*corev1.Service).Spec.Ports[0]
	require.Equal(t, int32(7000), port.Port)
	require.Equal(t, "https", *port.AppProtocol)
	policy := objects["NetworkPolicy/pointsman-state"].(*networkingv1.NetworkPolicy)
	require.Equal(t, int32(8443), policy.Spec.Egress[1].Ports[0].Port.IntVal)

	require.Equal(t, map[string]any{
		"version":   1.0,
		"listen":    "0.0.0.0:7000",
		"token_env": "POINTSMAN_STATE_TOKEN",
		"tls":       map[string]any{"cert_file": "/etc/pointsman-tls/tls.crt", "key_file": "/etc/pointsman-tls/tls.key"},
		"kv":        map[string]any{"enabled": false},
		"tokenize":  map[string]any{"ask_engines": true},
		"shutdown":  map[string]any{"drain_ms": 10000.0},
		"discovery": map[string]any{
			"dns":        map[string]any{"interval_ms": 9000.0},
			"kubernetes": map[string]any{"enabled": true, "namespace": "", "selector": "tier in (a,b)"},
		},
	}, statesvcOf(t, objects))

	off := helm(t, "pointsman", `
discovery: {enabled: false}
networkPolicy: {enabled: false}
config: {fleet: {static: [{address: "10.0.0.7:8000"}]}}`)
	require.NotContains(t, off, "Role/pointsman-state")
	require.NotContains(t, off, "NetworkPolicy/pointsman-state")
	require.NotContains(t, statesvcOf(t, off), "discovery")
	require.False(t, *off["Deployment/pointsman-state"].(*appsv1.Deployment).Spec.Template.Spec.AutomountServiceAccountToken)
}

// Values that would do nothing or not work are refused.
func TestChart_refusals(t *testing.T) {
	for values, says := range map[string]string{
		"replica: 2":                            "replica",
		"image: {tags: a}":                      "tags",
		"goMemLimit: 2":                         "goMemLimit",
		"replicas: two":                         "replicas",
		"appProtocol: h2c":                      "appProtocol",
		"config: {version: null}":               "version",
		"config: {listen: '127.0.0.1:9090'}":    "config.listen: is set by the values port",
		"config: {discovery: {kubernetes: {}}}": "config.discovery.kubernetes: is set by the value discovery",
		"discovery: {settings: {namespace: a}}": "namespace",
	} {
		_, err := template("pointsman", values)
		require.ErrorContains(t, err, says, values)
	}
}
