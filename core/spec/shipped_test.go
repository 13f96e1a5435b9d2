package spec

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pointsman/pointsman/configs"
	"github.com/stretchr/testify/require"
)

// Every filter configuration that people copy is one the filter takes.
func TestShipped_filter_configurations_decode(t *testing.T) {
	files, err := fs.Glob(configs.FS, "filter/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			document, err := configs.FS.ReadFile(name)
			require.NoError(t, err)
			decodesAndBuilds(t, document)
		})
	}
}

func TestShipped_bootstraps_carry_filter_configurations_that_decode(t *testing.T) {
	files, err := fs.Glob(configs.FS, "envoy/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			text, err := configs.FS.ReadFile(name)
			require.NoError(t, err)
			var bootstrap any
			require.NoError(t, yaml.Unmarshal(text, &bootstrap))
			documents := inlined(bootstrap)
			require.NotEmpty(t, documents, "no filter configuration found")
			for _, document := range documents {
				decodesAndBuilds(t, []byte(document))
			}
			mode := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "envoy/"), ".yaml"), "-", "_")
			require.Contains(t, documents[0], mode, "the filter is told how this bootstrap reads the endpoint header")
		})
	}
}

func decodesAndBuilds(t *testing.T, document []byte) {
	t.Helper()
	cfg, err := Decode(document)
	require.NoError(t, err)
	_, err = Build(Defaults(cfg), stateful())
	require.NoError(t, err)
}

// inlined collects the plugin configurations of wasm filters anywhere below node.
func inlined(node any) (documents []string) {
	switch node := node.(type) {
	case map[string]any:
		if c, ok := node["configuration"].(map[string]any); ok && node["vm_config"] != nil {
			if text, ok := c["value"].(string); ok {
				documents = append(documents, text)
			}
		}
		for _, child := range node {
			documents = append(documents, inlined(child)...)
		}
	case []any:
		for _, child := range node {
			documents = append(documents, inlined(child)...)
		}
	}
	return documents
}
