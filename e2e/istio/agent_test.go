package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
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

// rendered are manifests whose filter the agent fetches.
const rendered = "../../hostsim/render/istio/testdata/full-by-discovery.yaml"

// The agent beside a proxy fetches the module of the rendered extension, checks its
// sum, and leaves all else as it is: the header-pause flag above all.
func TestAgent_fetches_the_module(t *testing.T) {
	module := append([]byte("\x00asm\x01\x00\x00\x00"), make([]byte, 64)...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(module) }))
	defer server.Close()
	digest := sha256.Sum256(module)
	extension := extensionOf(t)
	filter := &wasmv3.Wasm{}
	if err := extension.TypedConfig.UnmarshalTo(filter); err != nil {
		t.Fatal(err)
	}
	remote := filter.Config.GetVmConfig().Code.GetRemote()
	if !strings.HasPrefix(remote.HttpUri.Uri, "oci://") || len(remote.Sha256) != 64 {
		t.Fatalf("not a module to fetch: %v", remote)
	}
	remote.HttpUri.Uri, remote.Sha256 = server.URL+"/filter.wasm", hex.EncodeToString(digest[:])
	extension.TypedConfig = mustAny(t, filter)

	cache := wasm.NewLocalFileCache(t.TempDir(), wasm.Options{
		PurgeInterval: time.Hour, ModuleExpiry: time.Hour, HTTPRequestTimeout: 10 * time.Second, HTTPRequestMaxRetries: 1,
	})
	defer cache.Cleanup()
	resources := []*anypb.Any{mustAny(t, extension)}
	if err := wasm.MaybeConvertWasmExtensionConfig(resources, cache); err != nil {
		t.Fatal(err)
	}
	got, gotFilter := &corev3.TypedExtensionConfig{}, &wasmv3.Wasm{}
	if err := resources[0].UnmarshalTo(got); err != nil {
		t.Fatal(err)
	}
	if err := got.TypedConfig.UnmarshalTo(gotFilter); err != nil {
		t.Fatalf("the agent has put another filter in its place: %v", err)
	}
	if got.Name != "pointsman" || !gotFilter.Config.GetAllowOnHeadersStopIteration().GetValue() {
		t.Fatalf("the agent has changed the extension: %v", got)
	}
	fetched, err := os.ReadFile(gotFilter.Config.GetVmConfig().Code.GetLocal().GetFilename())
	if err != nil || string(fetched) != string(module) {
		t.Fatalf("the module is not the one that was served: %v", err)
	}
}

// extensionOf finds the extension that the manifests add.
func extensionOf(t *testing.T) *corev3.TypedExtensionConfig {
	t.Helper()
	text, err := os.ReadFile(rendered)
	if err != nil {
		t.Fatal(err)
	}
	configs, _, err := crd.ParseInputs(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		filter, ok := c.Spec.(*networking.EnvoyFilter)
		if !ok {
			continue
		}
		for _, p := range filter.ConfigPatches {
			if p.ApplyTo != networking.EnvoyFilter_EXTENSION_CONFIG {
				continue
			}
			extension := &corev3.TypedExtensionConfig{}
			raw, err := protomarshal.Marshal(p.Patch.Value)
			if err != nil {
				t.Fatal(err)
			}
			if err := protomarshal.Unmarshal(raw, extension); err != nil {
				t.Fatal(err)
			}
			return extension
		}
	}
	t.Fatal("no extension in " + rendered)
	return nil
}

func mustAny(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
