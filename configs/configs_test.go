package configs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/configs"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/statesvc/config"
)

// Every filter configuration is one that the filter takes.
func TestFilters(t *testing.T) {
	files, err := fs.Glob(configs.FS, "filter/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		require.True(t, strings.HasSuffix(name, ".json"), name)
		text, err := fs.ReadFile(configs.FS, name)
		require.NoError(t, err)
		_, err = spec.Decode(text)
		require.NoError(t, err, name)
	}
}

// Every state service configuration is one that it takes.
func TestStateServices(t *testing.T) {
	files, err := filepath.Glob("statesvc/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		_, err = config.Parse(text, func(string) string { return "" })
		require.NoError(t, err, name)
	}
}

// The configuration in the kustomize base is one that the state service takes.
func TestKubernetes(t *testing.T) {
	text, err := os.ReadFile("kubernetes/base/configmap.yaml")
	require.NoError(t, err)
	var configMap struct {
		Data map[string]string `yaml:"data"`
	}
	require.NoError(t, yaml.Unmarshal(text, &configMap))
	cfg, err := config.Parse([]byte(configMap.Data["statesvc.yaml"]), func(string) string { return "" })
	require.NoError(t, err)
	require.True(t, cfg.Discovery.Kubernetes.Enabled)
}

// Every label of the filter's metrics is taken out of their names by the bootstraps.
func TestBootstraps_tag_every_label(t *testing.T) {
	files, err := fs.Glob(configs.FS, "envoy/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := fs.ReadFile(configs.FS, name)
		require.NoError(t, err)
		for _, f := range flow.Metrics() {
			if f.Label != "" {
				require.Contains(t, string(text), "{tag_name: "+f.Label+", regex: '(_"+f.Label+"=([a-z_]+))'}", "%s, for %s", name, f.Name)
			}
		}
	}
}
