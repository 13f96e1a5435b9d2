package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// worst lists what is worse than a note.
func worst(findings []Finding) (list []Finding) {
	for _, f := range findings {
		if f.Severity > Note {
			list = append(list, f)
		}
	}
	return list
}

// shipped lists what is shipped, what rendering is tested with, and the good files that
// faults are made of: each of the files that stand for themselves, and each folder of
// manifests that belong together.
func shipped(t *testing.T) (sets [][]string) {
	for _, folder := range []string{"testdata/good", "../render/envoy/testdata", "../render/istio/testdata", "../../configs/envoy", "../../configs/filter", "../../configs/istio", "../../configs/statesvc"} {
		files, err := filepath.Glob(folder + "/*")
		require.NoError(t, err)
		for _, file := range files {
			sets = append(sets, []string{file})
		}
	}
	folders, err := filepath.Glob("../../configs/*")
	require.NoError(t, err)
	for _, folder := range folders {
		info, err := os.Stat(folder)
		require.NoError(t, err)
		if !info.IsDir() || slices.Contains([]string{"envoy", "filter", "istio", "statesvc"}, filepath.Base(folder)) {
			continue
		}
		files, err := Collect(os.DirFS(folder))
		require.NoError(t, err)
		for i := range files {
			files[i] = filepath.Join(folder, files[i])
		}
		sets = append(sets, files)
	}
	return sets
}

// knownNotes are the notes that files have for what they are: a WasmPlugin cannot show
// the filter bodies, and Envoy Gateway cannot start a filter anew without a patch.
func knownNotes() map[string][]string {
	return map[string][]string{
		"envoy-gateway.yaml":     {"fail-closed"},
		"istio-header-only.yaml": {"header-only"},
		"header-only.yaml":       {"header-only"},
	}
}

// unexpected lists findings that are worse than a note, and notes that are not known.
func unexpected(findings []Finding) []string {
	known := knownNotes()
	return brief(slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return f.Severity == Note && slices.Contains(known[filepath.Base(f.File)], f.Rule)
	}))
}

// Nothing is wrong with anything that is shipped, for any release that routes by the body.
func TestGood_files_have_no_findings(t *testing.T) {
	sets := shipped(t)
	require.Greater(t, len(sets), 15)
	for _, files := range sets {
		var inputs []Input
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			inputs = append(inputs, Input{Name: file, Data: data})
		}
		for _, version := range []*Version{nil, {1, 36, 4}, {1, 40, 0}} {
			require.Empty(t, unexpected(Examine(inputs, Options{Version: version}).Findings), "%q", files)
		}
	}
}

// What belongs together has no findings together.
func TestGood_pairs_have_no_findings(t *testing.T) {
	for _, pair := range [][]string{
		{"override-host.yaml", "statesvc.yaml"}, {"original-dst.yaml", "statesvc.yaml"},
	} {
		var inputs []Input
		for _, name := range pair {
			inputs = append(inputs, Input{Name: name, Data: []byte(good(t, name)), Asked: true})
		}
		require.Empty(t, Examine(inputs, Options{}).Findings, pair)
	}
}

// Filter and host may agree on another header than the default one.
func TestGood_with_another_header(t *testing.T) {
	for _, name := range []string{"override-host.yaml", "original-dst.yaml"} {
		text := strings.ReplaceAll(good(t, name), "x-pointsman-endpoint", "x-gateway-destination-endpoint")
		text = strings.Replace(text, `"proxy": "demo",`, `"endpoint_header": "X-Gateway-Destination-Endpoint",`, 1)
		require.Empty(t, Examine([]Input{{Name: name, Data: []byte(text), Asked: true}}, Options{}).Findings, name)
	}
}

// Routes of the Gateway API are Istio's where its manifests are there.
func TestGateway_API_on_Istio(t *testing.T) {
	const route = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: models, namespace: llm}
spec:
  rules:
    - timeouts: {request: 30s}
      filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x-pointsman-endpoint]}}]
      backendRefs: [{name: engines, port: 8000}]
`
	text := good(t, "istio-header-only.yaml") + route
	report := Examine([]Input{{Name: "all.yaml", Data: []byte(text), Asked: true}}, Options{})
	require.Len(t, report.Proxies, 1)
	require.ElementsMatch(t, []string{
		"error header-removed spec.rules[0].filters[0].requestHeaderModifier.remove[0]",
		"error route-timeout spec.rules[0].timeouts.request",
		"error route-misses-engines spec.rules[0].backendRefs",
	}, brief(worst(report.Findings)))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A module that a manifest names by its path is compared with the manifest's hash.
func TestModules_named_by_path(t *testing.T) {
	const plugin = `
apiVersion: extensions.istio.io/v1alpha1
kind: WasmPlugin
metadata: {name: pointsman}
spec:
  url: file:///etc/pointsman/filter.wasm
  sha256: 1d86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  failStrategy: FAIL_RELOAD
  pluginConfig: {version: 1, workers: [{address: "10.0.0.7:8000", models: [m]}], models: {m: {buckets: [{id: all, groups: {plain: {policy: {type: random}}}}]}}}
`
	read := func(name string) ([]byte, error) {
		require.Equal(t, "/etc/pointsman/filter.wasm", name)
		return []byte("module"), nil
	}
	report := Examine([]Input{{Name: "plugin.yaml", Data: []byte(plugin)}}, Options{ReadFile: read})
	require.Equal(t, []string{"error wasm-hash spec.sha256", "note header-only spec.url"}, brief(report.Findings))
	require.Equal(t, "/etc/pointsman/filter.wasm has the hash "+hashOf("module"), report.Findings[0].What)
}

// Lines inside an embedded configuration are those of the file.
func TestLines_of_embedded_configurations(t *testing.T) {
	f := readFault(t, "testdata/faults/filter-config.edit")
	found := Examine(f.inputs, Options{}).Findings[0]
	var line string
	n := 0
	for l := range lines(string(f.inputs[0].Data)) {
		if n++; n == found.Line {
			line = l
		}
	}
	require.Contains(t, line, "power_of_n")
}
