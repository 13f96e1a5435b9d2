package kubernetes_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

var update = flag.Bool("update", false, "write the kustomize base")

const filter = `{"version":1,"endpoint_mode":"override_host","state":{"cluster":"pointsman_state"},
"models":{"demo":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"power_of_two"}}}}]}}}`

func input(t *testing.T, text string, o render.Options) *render.Input {
	t.Helper()
	in, err := render.Read([]byte(text), o)
	require.NoError(t, err)
	return in
}

// The kustomize base is what the templates give with every default.
func TestBase(t *testing.T) {
	const folder = "../../../configs/kubernetes/base"
	files, err := kubernetes.Base()
	require.NoError(t, err)
	kustomization, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	require.NoError(t, err)
	for _, f := range files {
		path := filepath.Join(folder, f.Name)
		if *update {
			require.NoError(t, os.WriteFile(path, f.Text, 0o644))
		}
		found, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(f.Text), string(found), "%s; go test ./hostsim/render/kubernetes -update writes it", path)
		require.Contains(t, string(kustomization), "  - "+f.Name+"\n")
	}
	there, err := filepath.Glob(folder + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, there, len(files)+1, "files that nobody renders")
}

// objects reads the documents of one kind.
func objects[T any](t *testing.T, files []render.File, kind string) []T {
	t.Helper()
	var list []T
	for _, f := range files {
		documents, err := render.Documents(f.Text)
		require.NoError(t, err)
		for _, d := range documents {
			k, err := kubernetes.KindOf(d)
			require.NoError(t, err)
			if k.Kind == kind {
				var object T
				require.NoError(t, kubernetes.Strict(d, &object))
				list = append(list, object)
			}
		}
	}
	return list
}

// What the manifests refer to is there.
func TestRender_references(t *testing.T) {
	files, err := kubernetes.Render(input(t, filter, render.Options{Namespace: "inference"}), kubernetes.Options{Image: "r.example/statesvc:1.2"})
	require.NoError(t, err)
	deployments := objects[appsv1.Deployment](t, files, "Deployment")
	require.Len(t, deployments, 1)
	d := deployments[0]
	pod, container := d.Spec.Template, d.Spec.Template.Spec.Containers[0]
	require.Equal(t, "r.example/statesvc:1.2", container.Image)

	matches := func(selector map[string]string) {
		require.NotEmpty(t, selector)
		for k, v := range selector {
			require.Equal(t, v, pod.Labels[k])
		}
	}
	matches(d.Spec.Selector.MatchLabels)
	matches(objects[policyv1.PodDisruptionBudget](t, files, "PodDisruptionBudget")[0].Spec.Selector.MatchLabels)
	policy := objects[networkingv1.NetworkPolicy](t, files, "NetworkPolicy")[0]
	matches(policy.Spec.PodSelector.MatchLabels)
	require.Equal(t, "app", keyOf(policy.Spec.Egress[len(policy.Spec.Egress)-1].To[0].PodSelector.MatchLabels))
	service := objects[corev1.Service](t, files, "Service")[0]
	matches(service.Spec.Selector)
	require.Equal(t, corev1.ClusterIPNone, service.Spec.ClusterIP)
	require.Equal(t, container.Ports[0].Name, service.Spec.Ports[0].TargetPort.String())
	require.Equal(t, container.Ports[0].Name, policy.Spec.Ingress[0].Ports[0].Port.String())
	for _, s := range pod.Spec.TopologySpreadConstraints {
		matches(s.LabelSelector.MatchLabels)
	}
	for _, p := range []*corev1.Probe{container.ReadinessProbe, container.LivenessProbe} {
		require.Equal(t, container.Ports[0].Name, p.HTTPGet.Port.String())
	}

	account := objects[corev1.ServiceAccount](t, files, "ServiceAccount")[0]
	require.Equal(t, account.Name, pod.Spec.ServiceAccountName)
	role := objects[rbacv1.Role](t, files, "Role")[0]
	binding := objects[rbacv1.RoleBinding](t, files, "RoleBinding")[0]
	require.Equal(t, role.Name, binding.RoleRef.Name)
	require.Equal(t, rbacv1.Subject{Kind: "ServiceAccount", Name: account.Name, Namespace: "inference"}, binding.Subjects[0])
	require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}}}, role.Rules)

	maps := objects[corev1.ConfigMap](t, files, "ConfigMap")
	require.Len(t, maps, 2)
	require.JSONEq(t, filter, maps[0].Data["filter.json"])
	require.Equal(t, maps[1].Name, pod.Spec.Volumes[0].ConfigMap.Name)
	require.Contains(t, maps[1].Data["statesvc.yaml"], "namespace: inference")
	file := container.Args[1]
	require.Equal(t, container.VolumeMounts[0].MountPath, filepath.Dir(file))
	require.Contains(t, maps[1].Data, filepath.Base(file))
	for _, f := range files {
		require.NotContains(t, string(f.Text), "namespace: pointsman\n", f.Name)
	}
}

func keyOf(m map[string]string) string {
	for k := range m {
		return k
	}
	return ""
}

// A pod runs with as little as the Pod Security Standard "restricted" asks for.
func TestRender_restricted(t *testing.T) {
	files, err := kubernetes.Render(input(t, filter, render.Options{}), kubernetes.Options{Image: kubernetes.Image})
	require.NoError(t, err)
	pod := objects[appsv1.Deployment](t, files, "Deployment")[0].Spec.Template.Spec
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	c := pod.Containers[0].SecurityContext
	require.False(t, *c.AllowPrivilegeEscalation)
	require.True(t, *c.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, c.Capabilities.Drop)
	require.Empty(t, c.Capabilities.Add)
}

// What a configuration of the state service needs is in the pod.
func TestRender_statesvc(t *testing.T) {
	s := &kubernetes.Statesvc{
		Text: []byte("version: 1\n"), Port: 7000, GraceSeconds: 40, Kubernetes: true, Addresses: true,
		Secrets: []string{"STATE_TOKEN", "ADMIN_TOKEN"}, TokenEnv: "STATE_TOKEN",
		CertFile: "/etc/pointsman-tls/tls.crt", KeyFile: "/etc/pointsman-tls/tls.key",
		Files: map[string]string{
			"discovery.file.path":   "/etc/pointsman-workers/workers.yaml",
			"tokenize.models.a.dir": "/var/lib/pointsman/tokenizers/a",
			"tokenize.models.b.dir": "/var/lib/pointsman/tokenizers/b",
		},
	}
	text := strings.Replace(filter, `"cluster":"pointsman_state"`, `"cluster":"pointsman_state","token_env":"STATE_TOKEN"`, 1)
	files, err := kubernetes.Render(input(t, text, render.Options{}), kubernetes.Options{Image: kubernetes.Image, Statesvc: s})
	require.NoError(t, err)
	pod := objects[appsv1.Deployment](t, files, "Deployment")[0].Spec.Template.Spec
	c := pod.Containers[0]
	require.Equal(t, int32(7000), c.Ports[0].ContainerPort)
	require.Equal(t, corev1.URISchemeHTTPS, c.ReadinessProbe.HTTPGet.Scheme)
	require.Len(t, c.Env, 3)
	require.Equal(t, "ADMIN_TOKEN", c.Env[2].ValueFrom.SecretKeyRef.Key)
	require.Len(t, c.VolumeMounts, 4)
	require.Len(t, pod.Volumes, 4)
	require.Equal(t, int64(40), *pod.TerminationGracePeriodSeconds)
	role := objects[rbacv1.ClusterRole](t, files, "ClusterRole")[0]
	require.Empty(t, role.Namespace)
	require.Equal(t, role.Name, objects[rbacv1.ClusterRoleBinding](t, files, "ClusterRoleBinding")[0].RoleRef.Name)
	egress := objects[networkingv1.NetworkPolicy](t, files, "NetworkPolicy")[0].Spec.Egress
	require.NotNil(t, egress[len(egress)-1].To[0].NamespaceSelector)

	listed := &kubernetes.Statesvc{Text: []byte("version: 1\n"), Port: 9090, Addresses: true}
	files, err = kubernetes.Render(input(t, filter, render.Options{}), kubernetes.Options{Image: kubernetes.Image, Statesvc: listed})
	require.NoError(t, err)
	require.Empty(t, objects[rbacv1.Role](t, files, "Role"))
	require.False(t, *objects[appsv1.Deployment](t, files, "Deployment")[0].Spec.Template.Spec.AutomountServiceAccountToken)
}

// The port's protocol is named where a mesh must know it: for a stream of calls, which
// needs HTTP/2. With TLS both sides agree by themselves.
func TestRender_callStream(t *testing.T) {
	stream := strings.Replace(filter, `"cluster":"pointsman_state"`, `"cluster":"pointsman_state","call_stream":true`, 1)
	tls := &kubernetes.Statesvc{
		Text: []byte("version: 1\n"), Port: 9090, Kubernetes: true,
		CertFile: "/etc/pointsman-tls/tls.crt", KeyFile: "/etc/pointsman-tls/tls.key",
	}
	h2c := "kubernetes.io/h2c"
	for _, tc := range []struct {
		filter   string
		statesvc *kubernetes.Statesvc
		name     string
		want     *string
	}{
		{filter, nil, "http", nil},
		{stream, nil, "http", &h2c},
		{stream, tls, "https", nil},
	} {
		files, err := kubernetes.Render(input(t, tc.filter, render.Options{}), kubernetes.Options{Image: kubernetes.Image, Statesvc: tc.statesvc})
		require.NoError(t, err)
		port := objects[corev1.Service](t, files, "Service")[0].Spec.Ports[0]
		require.Equal(t, tc.name, port.Name)
		require.Equal(t, tc.want, port.AppProtocol)
	}
}

// Everything that would not work is refused at once.
func TestRender_refusals(t *testing.T) {
	in := input(t, `{"version":1,"models":{"m":{"buckets":[{"id":"a","groups":{"plain":{"policy":{"type":"random"}}}}]}},
	"workers":[{"address":"10.0.0.1:1","models":["m"]}]}`, render.Options{Namespace: "No"})
	s := &kubernetes.Statesvc{
		Port: 9090, Loopback: true, Kubeconfig: "/k", CertFile: "/a", KeyFile: "/b", StateFile: "/s",
		Files: map[string]string{"tokenize.models.a.dir": "/tokenizers/a"},
	}
	_, err := kubernetes.Render(in, kubernetes.Options{Statesvc: s, Image: "No Image", EnginePods: "engine"})
	var refusals render.Refusals
	require.ErrorAs(t, err, &refusals)
	var paths []string
	for _, r := range refusals {
		require.NotEmpty(t, r.Reason)
		require.NotEmpty(t, r.Instead)
		paths = append(paths, r.Path)
	}
	require.ElementsMatch(t, []string{
		"--namespace", "--image", "--engine-pods", "state", "--statesvc listen", "--statesvc discovery", "--statesvc tls",
		"--statesvc discovery.kubernetes.kubeconfig", "--statesvc tokenize.models.a.dir", "--statesvc discovery.http.state_file",
	}, paths)

	token := &kubernetes.Statesvc{Text: []byte("version: 1\n"), Port: 9090, Kubernetes: true, TokenEnv: "T"}
	_, err = kubernetes.Render(input(t, filter, render.Options{}), kubernetes.Options{Statesvc: token})
	require.ErrorContains(t, err, "state.token_env: is not set, and the state service asks for a token")
}

// Keys with typing errors, kinds of others and wrong types are found.
func TestCheck(t *testing.T) {
	for text, says := range map[string]string{
		`{"apiVersion":"v1","kind":"Service","spec":{"clusterIp":"None"}}`:     `unknown field "spec.clusterIp"`,
		`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":"a"}]}}`: "cannot unmarshal",
		`{"apiVersion":"v1","kind":"Pod"}`:                                     "no kind that is known here",
		`{"kind":"Service"}`:                                                   "apiVersion or kind is missing",
		`[]`:                                                                   "no object of Kubernetes",
		`{"apiVersion":"v1","kind":"Service","spec":{},"spec":{}}`:             `duplicate field "spec"`,
	} {
		require.ErrorContains(t, kubernetes.Check(json.RawMessage(text)), says, text)
	}
}
