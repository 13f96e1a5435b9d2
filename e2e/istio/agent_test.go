package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	networking "istio.io/api/networking/v1alpha3"

	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pkg/util/protomarshal"
	"istio.io/istio/pkg/wasm"
)

// rendered are manifests whose filter the agent fetches, from the place and by the
// digest below.
const (
	rendered       = "../../hostsim/render/istio/testdata/full-by-discovery.yaml"
	renderedURL    = "oci://registry.example.com/pointsman/filter:1"
	renderedDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// The agent beside a proxy fetches the image of a release from a registry by the
// rendered extension, and checks its digest.
func TestAgent(t *testing.T) {
	dir := releaseFilter(t)
	repository, digest := serveImage(t, filepath.Join(dir, "filter-oci"))
	module, err := os.ReadFile(filepath.Join(dir, "filter.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	byTag := "oci://" + repository + ":" + imageTag
	t.Run("by tag", func(t *testing.T) {
		requireFetched(t, convert(t, extensionFrom(t, byTag, digest)), module)
	})
	t.Run("by digest", func(t *testing.T) {
		requireFetched(t, convert(t, extensionFrom(t, "oci://"+repository+"@sha256:"+digest, digest)), module)
	})
	t.Run("not another image", func(t *testing.T) {
		converted := convert(t, extensionFrom(t, byTag, renderedDigest))
		if got := converted.TypedConfig.TypeUrl; !strings.HasSuffix(got, ".rbac.v3.RBAC") {
			t.Fatalf("the agent puts %s in, and not what refuses all requests", got)
		}
	})
}

// requireFetched checks that the agent has put the module's file into the extension,
// and left all else as it is: the header-pause flag above all.
func requireFetched(t *testing.T, extension *corev3.TypedExtensionConfig, module []byte) {
	t.Helper()
	filter := &wasmv3.Wasm{}
	if err := extension.TypedConfig.UnmarshalTo(filter); err != nil {
		t.Fatalf("the agent has put another filter in its place: %v", err)
	}
	if extension.Name != "pointsman" || !filter.Config.GetAllowOnHeadersStopIteration().GetValue() {
		t.Fatalf("the agent has changed the extension: %v", extension)
	}
	fetched, err := os.ReadFile(filter.Config.GetVmConfig().Code.GetLocal().GetFilename())
	if err != nil || !bytes.Equal(fetched, module) {
		t.Fatalf("the module is not the released one: %d bytes of %d, %v", len(fetched), len(module), err)
	}
}

// convert gives what the agent makes of an extension before the proxy sees it.
func convert(t *testing.T, extension *corev3.TypedExtensionConfig) *corev3.TypedExtensionConfig {
	t.Helper()
	cache := wasm.NewLocalFileCache(t.TempDir(), wasm.Options{
		PurgeInterval: time.Hour, ModuleExpiry: time.Hour, HTTPRequestTimeout: 10 * time.Second, HTTPRequestMaxRetries: 1,
	})
	t.Cleanup(cache.Cleanup)
	resources := []*anypb.Any{mustAny(t, extension)}
	if err := wasm.MaybeConvertWasmExtensionConfig(resources, cache); err != nil {
		t.Fatal(err)
	}
	got := &corev3.TypedExtensionConfig{}
	if err := resources[0].UnmarshalTo(got); err != nil {
		t.Fatal(err)
	}
	return got
}

// extensionFrom finds the extension that the manifests add, with the module at
// another place.
func extensionFrom(t *testing.T, url, digest string) *corev3.TypedExtensionConfig {
	t.Helper()
	text, err := os.ReadFile(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), renderedURL) || !strings.Contains(string(text), renderedDigest) {
		t.Fatalf("%s does not fetch %s by its digest", rendered, renderedURL)
	}
	configs, _, err := crd.ParseInputs(strings.NewReplacer(renderedURL, url, renderedDigest, digest).Replace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		filter, ok := c.Spec.(*networking.EnvoyFilter)
		if !ok {
			continue
		}
		for _, p := range filter.ConfigPatches {
			if p.ApplyTo == networking.EnvoyFilter_EXTENSION_CONFIG {
				return extensionOf(t, p)
			}
		}
	}
	t.Fatal("no extension in " + rendered)
	return nil
}

func extensionOf(t *testing.T, p *networking.EnvoyFilter_EnvoyConfigObjectPatch) *corev3.TypedExtensionConfig {
	t.Helper()
	raw, err := protomarshal.Marshal(p.Patch.Value)
	if err != nil {
		t.Fatal(err)
	}
	extension := &corev3.TypedExtensionConfig{}
	if err := protomarshal.Unmarshal(raw, extension); err != nil {
		t.Fatal(err)
	}
	return extension
}

func mustAny(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
