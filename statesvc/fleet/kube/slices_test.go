package kube_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/kube"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slice is one of Service vllm in namespace prod, with port 8000.
func slice(name string, endpoints ...discovery.Endpoint) *discovery.EndpointSlice {
	return &discovery.EndpointSlice{
		ObjectMeta: meta.ObjectMeta{
			Namespace: "prod", Name: name,
			Labels: map[string]string{discovery.LabelServiceName: "vllm"}, Annotations: map[string]string{},
		},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: new("http"), Port: new(int32(8000))}, {Name: new("other"), Port: new(int32(9000))}},
		Endpoints:   endpoints,
	}
}

func with(s *discovery.EndpointSlice, change func(*discovery.EndpointSlice)) *discovery.EndpointSlice {
	change(s)
	return s
}

// pod is a ready endpoint.
func pod(uid, address string, change ...func(*discovery.Endpoint)) discovery.Endpoint {
	e := discovery.Endpoint{Addresses: []string{address}, Conditions: discovery.EndpointConditions{Ready: new(true)}}
	if uid != "" {
		e.TargetRef = &core.ObjectReference{Kind: "Pod", Namespace: "prod", Name: "vllm-0", UID: types.UID(uid)}
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

func unready(e *discovery.Endpoint) { e.Conditions.Ready = new(false) }
func unknown(e *discovery.Endpoint) { e.Conditions = discovery.EndpointConditions{} }
func terminating(e *discovery.Endpoint) {
	e.Conditions = discovery.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
}

func ended(e *discovery.Endpoint) {
	e.Conditions = discovery.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(true)}
}

// published is what a Service with publishNotReadyAddresses says of a pod that ends.
func published(e *discovery.Endpoint) {
	e.Conditions = discovery.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(true)}
}

// show is a claim in one line.
func show(c claims.Claim) string {
	words := []string{c.Worker.ID, c.Worker.Endpoint.HostPort(), c.Incarnation}
	words = append(words, c.Worker.Services...)
	for _, word := range []struct {
		is   bool
		text string
	}{{c.Worker.Role != "", c.Worker.Role}, {c.Worker.Draining, "draining"}, {c.Unready, "unready"}} {
		if word.is {
			words = append(words, word.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func TestClaims(t *testing.T) {
	v6 := func(s *discovery.EndpointSlice) { s.AddressType = discovery.AddressTypeIPv6 }
	label := func(key, value string) func(*discovery.EndpointSlice) {
		return func(s *discovery.EndpointSlice) { s.Labels[key] = value }
	}
	pair := config.KubernetesDiscovery{PrefillSelector: "app=p", DecodeSelector: "app=d,tier==x"}
	cases := map[string]struct {
		config config.KubernetesDiscovery
		slices []*discovery.EndpointSlice
		want   []string
	}{
		"nothing": {},
		"pods": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u2", "10.0.0.2"), pod("u1", "10.0.0.1"))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm", "prod/u2 10.0.0.2:8000 u2 prod/vllm"},
		},
		"without a target": {
			slices: []*discovery.EndpointSlice{slice("a", pod("", "10.0.0.1"))},
			want:   []string{"prod/a/10.0.0.1:8000 10.0.0.1:8000 prod/vllm"},
		},
		"conditions": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1", unknown), pod("u2", "10.0.0.2", unready),
				pod("u3", "10.0.0.3", terminating), pod("u4", "10.0.0.4", ended), pod("u5", "10.0.0.5", published))},
			want: []string{
				"prod/u1 10.0.0.1:8000 u1 prod/vllm", "prod/u2 10.0.0.2:8000 u2 prod/vllm unready", "prod/u3 10.0.0.3:8000 u3 prod/vllm draining",
				"prod/u4 10.0.0.4:8000 u4 prod/vllm draining unready", "prod/u5 10.0.0.5:8000 u5 prod/vllm draining",
			},
		},
		"several slices": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1")), slice("b", pod("u2", "10.0.0.2"))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm", "prod/u2 10.0.0.2:8000 u2 prod/vllm"},
		},
		"duplicates while it moves": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1", unready), pod("u1", "10.0.0.1", unready)), slice("b", pod("u1", "10.0.0.1"))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm"},
		},
		"a stale copy does not undo its end": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1")), slice("b", pod("u1", "10.0.0.1", terminating))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm draining"},
		},
		"two Services": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1")), with(slice("b", pod("u1", "10.0.0.1")), label(discovery.LabelServiceName, "canary"))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/canary prod/vllm"},
		},
		"dual stack": {
			slices: []*discovery.EndpointSlice{with(slice("a", pod("u1", "fd00::1")), v6), slice("b", pod("u1", "10.0.0.1")), with(slice("c", pod("u2", "fd00::2")), v6)},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm", "prod/u2 [fd00::2]:8000 u2 prod/vllm"},
		},
		"an address that another pod has now": {
			slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1", terminating)), slice("b", pod("u2", "10.0.0.1"))},
			want:   []string{"prod/u2 10.0.0.1:8000 u2 prod/vllm"},
		},
		"no addresses, host names, nonsense": {slices: []*discovery.EndpointSlice{
			slice("a", discovery.Endpoint{}, pod("u1", "0.0.0.0"), pod("u2", "x"), pod("u3", "10.0.0.3")),
			with(slice("b", pod("u4", "a.example")), func(s *discovery.EndpointSlice) { s.AddressType = discovery.AddressTypeFQDN }),
		}, want: []string{"prod/u3 10.0.0.3:8000 u3 prod/vllm", "! prod/b: holds host names; only slices of IP addresses are followed"}},
		"port by name": {
			config: config.KubernetesDiscovery{Port: "other"}, slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1"))},
			want: []string{"prod/u1 10.0.0.1:9000 u1 prod/vllm"},
		},
		"port by number": {
			config: config.KubernetesDiscovery{Port: "7000"}, slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1"))},
			want: []string{"prod/u1 10.0.0.1:7000 u1 prod/vllm"},
		},
		"port of the slice": {
			config: config.KubernetesDiscovery{Port: "7000"}, slices: []*discovery.EndpointSlice{with(slice("a", pod("u1", "10.0.0.1")), label("pointsman.io/port", "other"))},
			want: []string{"prod/u1 10.0.0.1:9000 u1 prod/vllm"},
		},
		"no such port": {
			config: config.KubernetesDiscovery{Port: "grpc"}, slices: []*discovery.EndpointSlice{slice("a", pod("u1", "10.0.0.1"))},
			want: []string{`! prod/a: has no port "grpc"`},
		},
		"no ports": {
			slices: []*discovery.EndpointSlice{with(slice("a", pod("u1", "10.0.0.1")), func(s *discovery.EndpointSlice) { s.Ports = []discovery.EndpointPort{{}} })},
			want:   []string{"prod/u1 10.0.0.1:30000 u1 prod/vllm"},
		},
		"role by label": {
			slices: []*discovery.EndpointSlice{with(slice("a", pod("u1", "10.0.0.1")), label("pointsman.io/role", "decode"))},
			want:   []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm decode"},
		},
		"no such role": {
			slices: []*discovery.EndpointSlice{with(slice("a", pod("u1", "10.0.0.1")), label("pointsman.io/role", "both"))},
			want:   []string{`! prod/a: role: "both" is not a role; write plain, prefill or decode, or leave it out to ask the engine`},
		},
		"a pair": {config: pair, slices: []*discovery.EndpointSlice{
			with(slice("a", pod("u1", "10.0.0.1")), label("app", "p")), with(slice("b", pod("u2", "10.0.0.2")), label("app", "d")),
			with(with(slice("c", pod("u3", "10.0.0.3")), label("app", "d")), label("tier", "x")), slice("d", pod("u4", "10.0.0.4")),
		}, want: []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm prefill", "prod/u3 10.0.0.3:8000 u3 prod/vllm decode"}},
		"both of a pair": {config: config.KubernetesDiscovery{PrefillSelector: "a=b", DecodeSelector: "c=d"}, slices: []*discovery.EndpointSlice{
			with(slice("a", pod("u1", "10.0.0.1")), label("c", "d")), with(slice("b", pod("u1", "10.0.0.1")), label("a", "b")),
		}, want: []string{"prod/u1 10.0.0.1:8000 u1 prod/vllm prefill"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, backwards := range []bool{false, true} {
				list := append([]*discovery.EndpointSlice(nil), c.slices...)
				if backwards && len(list) > 1 {
					list[0], list[len(list)-1] = list[len(list)-1], list[0]
				}
				found, problems := kube.Claims(c.config, list...)
				var got []string
				for _, f := range found {
					got = append(got, show(f))
				}
				for _, p := range problems {
					got = append(got, "! "+p)
				}
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestClaims_whatSlicesSayOfEngines(t *testing.T) {
	found, problems := kube.Claims(config.KubernetesDiscovery{}, with(slice("a", pod("u1", "10.0.0.1")), func(s *discovery.EndpointSlice) {
		s.Annotations["pointsman.io/models"] = "meta/Llama-3, alias"
		s.Labels["pointsman.io/models"] = "label"
		s.Labels["pointsman.io/version-group"] = "v7"
	}))
	require.Empty(t, problems)
	require.Equal(t, []string{"meta/Llama-3", "alias"}, found[0].Worker.Models)
	require.Equal(t, "v7", found[0].Worker.VersionGroup)
}

// 5,000 pods in slices of 100, each in two of them.
func TestClaims_many(t *testing.T) {
	var list []*discovery.EndpointSlice
	for i := range 50 {
		var endpoints []discovery.Endpoint
		for j := range 100 {
			endpoints = append(endpoints, pod(fmt.Sprintf("u%d", i*100+j), fmt.Sprintf("10.0.%d.%d", i, j)))
		}
		list = append(list, slice(fmt.Sprintf("a%d", i), endpoints...), slice(fmt.Sprintf("b%d", i), endpoints...))
	}
	found, _ := kube.Claims(config.KubernetesDiscovery{}, list...)
	require.Len(t, found, 5000)
}
