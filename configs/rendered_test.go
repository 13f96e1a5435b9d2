package configs_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/configs"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
	"github.com/pointsman/pointsman/hostsim/render/istio"
)

var update = flag.Bool("update", false, "write the rendered files")

// rendering is how a shipped manifest comes about.
type rendering struct {
	file, filter string
	target       func(*render.Input) ([]render.File, error)
	options      render.Options
}

func renderings() []rendering {
	onLoopback := render.Options{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:9901", State: "127.0.0.1:9090", Wasm: render.Wasm{Path: "dist/filter.wasm"},
		Engines: []string{"127.0.0.1:9101", "127.0.0.1:9102", "127.0.0.1:9103", "127.0.0.1:9104"},
	}
	inMesh := render.Options{
		Listen: "0.0.0.0:80", State: "statesvc.llm.svc:9090", Engines: []string{"engines.llm.svc:8000"},
		Namespace: "istio-system", Selector: map[string]string{"istio": "ingressgateway"},
	}
	full, headers := inMesh, inMesh
	full.Wasm.Path = "/var/lib/pointsman/filter.wasm"
	headers.Wasm.URL, headers.HeaderOnly = "oci://registry.example/pointsman@sha256:"+strings.Repeat("0", 64), true
	return []rendering{
		{"envoy/override-host.yaml", "filter/demo.json", envoy.Render, onLoopback},
		{"envoy/original-dst.yaml", "filter/demo-original-dst.json", envoy.Render, onLoopback},
		{"istio/full-mode.yaml", "filter/demo.json", istio.Render, full},
		{"istio/header-only.yaml", "filter/demo.json", istio.Render, headers},
	}
}

// The shipped manifests are what hostsim render gives, so that there is one truth.
func TestRendered(t *testing.T) {
	shipped := map[string]bool{}
	for _, r := range renderings() {
		shipped[r.file] = true
		t.Run(r.file, func(t *testing.T) {
			filter, err := configs.FS.ReadFile(r.filter)
			require.NoError(t, err)
			in, err := render.Read(filter, r.options)
			require.NoError(t, err)
			files, err := r.target(in)
			require.NoError(t, err)
			require.Len(t, files, 1)
			if *update {
				require.NoError(t, os.WriteFile(r.file, files[0].Text, 0o644))
			}
			text, err := os.ReadFile(r.file)
			require.NoError(t, err)
			require.Equal(t, string(files[0].Text), string(text), "run the test with -update")
		})
	}
	for _, pattern := range []string{"envoy/*", "istio/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			require.True(t, shipped[filepath.ToSlash(name)], "%s is no rendered file", name)
		}
	}
}
