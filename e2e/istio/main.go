// Command istio serves manifests to a proxy as istiod would: Istio's own
// configuration generator behind its discovery service, without a cluster.
//
// It is a module of its own, so that the product does not depend on Istio. The tests
// of package e2e with the build tag istio build and run it; `make e2e-istio` runs
// them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"

	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/config/schema/gvk"
	"istio.io/istio/pkg/test"
)

func main() {
	manifests := flag.String("manifests", "", "file with the manifests to serve")
	objects := flag.String("objects", "", "file with Kubernetes objects, like the gateway's pod")
	flag.Parse()
	if err := serve(*manifests, *objects); err != nil {
		fmt.Fprintln(os.Stderr, "istio:", err)
		os.Exit(1)
	}
}

// serve runs until standard input ends, so that the server never outlives the test
// that started it. Istio logs to standard output; the line "listening ADDRESS" is ours.
func serve(manifests, objects string) error {
	config, err := os.ReadFile(manifests)
	if err != nil {
		return err
	}
	pods, err := os.ReadFile(objects)
	if err != nil {
		return err
	}
	if err := validate(string(config)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return test.Wrap(func(t test.Failer) {
		xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
			ConfigString:           string(config),
			KubernetesObjectString: string(pods),
			ListenerBuilder:        func() (net.Listener, error) { return listener, nil },
		})
		fmt.Println("listening", listener.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
}

// validate does what Istio's admission webhook does. Warnings are errors here, but for
// EnvoyFilters, each of which gets one for being such.
func validate(manifests string) error {
	configs, others, err := crd.ParseInputs(manifests)
	if err != nil {
		return err
	}
	var problems []error
	for _, o := range others {
		problems = append(problems, fmt.Errorf("%s %s is not Istio's", o.Kind, o.Name))
	}
	for _, c := range configs {
		schema, ok := collections.All.FindByGroupVersionKind(c.GroupVersionKind)
		if !ok {
			problems = append(problems, fmt.Errorf("%v is unknown", c.GroupVersionKind))
			continue
		}
		warning, err := schema.ValidateConfig(c)
		problems = append(problems, err)
		if warning != nil && c.GroupVersionKind != gvk.EnvoyFilter {
			problems = append(problems, fmt.Errorf("%s %s: %w", c.GroupVersionKind.Kind, c.Name, warning))
		}
	}
	return errors.Join(problems...)
}
