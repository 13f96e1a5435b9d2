package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const demoConfig = "../../../configs/filter/demo.json"

func TestRender_writesToStdoutOrFiles(t *testing.T) {
	args := []string{"render", "envoy", "--config", demoConfig, "--state", "127.0.0.1:9090", "--engine", "127.0.0.1:9101"}
	code, stdout, stderr := tool(t, args...)
	require.Equal(t, exitGood, code, stderr)
	require.Empty(t, stderr)
	require.True(t, strings.HasPrefix(stdout, "# Pointsman behind a stock Envoy"), stdout)

	dir := filepath.Join(t.TempDir(), "a", "b")
	code, nothing, stderr := tool(t, append(args, "-o", dir)...)
	require.Equal(t, exitGood, code, stderr)
	require.Empty(t, nothing)
	path := filepath.Join(dir, "envoy.yaml")
	require.Equal(t, path+"\n", stderr)
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, stdout, string(written))
}

// Refusals are all told at once, on stderr, and nothing is written.
func TestRender_refuses(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		line string
		code int
		says []string
	}{
		{"render envoy --envoy-version 1.20 --wasm= --config " + demoConfig, exitBad, []string{
			"refused: --envoy-version:", "refused: --wasm:", "refused: state.cluster:", "refused: endpoint_mode:", "hostsim: not rendered, refusals: 4",
		}},
		{"render istio --header-only --wasm /filter.wasm --config ../../../configs/filter/cache-aware.json --state a.b.svc:1 --engine c.b.svc:1", exitBad, []string{
			"cache_aware goes by the prompt", "instead: no --header-only", `or "type": "session_aware"`,
		}},
		{"render envoy --config nothing.json", exitBad, []string{"read the filter configuration"}},
		{"render envoy --config main.go", exitBad, []string{"not valid JSON"}},
		{"render envoy", exitUsage, []string{"--config", "see hostsim render --help"}},
		{"render kong --config x", exitUsage, []string{"kong"}},
		{"render istio --wasm a --wasm-url b --config x", exitUsage, []string{"--wasm"}},
	} {
		t.Run(tc.line, func(t *testing.T) {
			code, stdout, stderr := tool(t, append(strings.Fields(tc.line), "-o", dir)...)
			require.Equal(t, tc.code, code, stderr)
			require.Empty(t, stdout)
			for _, text := range tc.says {
				require.Contains(t, stderr, text)
			}
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestRender_help(t *testing.T) {
	for _, line := range []string{"render --help", "render envoy --help", "render istio --help"} {
		code, stdout, stderr := tool(t, strings.Fields(line)...)
		require.Equal(t, exitGood, code, stderr)
		require.Contains(t, stdout, "Examples:")
		require.Contains(t, stdout, "hostsim render ")
	}
}
