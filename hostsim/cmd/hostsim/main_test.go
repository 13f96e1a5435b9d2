package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func tool(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = doMain(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// A wrong command line is one line that says what is wrong and where the help is.
func TestDoMain_usageErrorsPointToTheHelp(t *testing.T) {
	for _, tc := range []struct {
		line, says, help string
	}{
		{"serve", "give --config FILE", "hostsim serve --help"},
		{"serve --demmo 4", "--demmo", "hostsim serve --help"},
		{"serve --demo -1", "--demo -1: a negative number", "hostsim serve --help"},
		{"serve --config ../../../configs/filter/demo.json", "give --state URL", "hostsim serve --help"},
		{"simulate --cache -1", "--cache -1: a negative number", "hostsim simulate --help"},
		{"simulate --cache=-1 --engines 0", "--engines 0: use 1 to 200; --cache -1: use at least 1", "hostsim simulate --help"},
		{"simulate --policy", "--policy", "hostsim simulate --help"},
		{"convert", "no flags to convert", "hostsim convert --help"},
		{"convert --model-id demo", "come after --", "hostsim convert --help"},
		{"inspect", "", "hostsim inspect --help"},
		{"story", "", "hostsim story --help"},
		{"render envoy --config a --config b", "--config stands twice", "hostsim render --help"},
		{"doctor --json --envoy-version 1.36 --envoy-version 1.40 x", "--envoy-version stands twice", "hostsim doctor --help"},
		{"server", "server", "hostsim --help"},
		{"--demo 4", "--demo", "hostsim --help"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			code, stdout, stderr := tool(t, strings.Fields(tc.line)...)
			require.Equal(t, exitUsage, code, stderr)
			require.Empty(t, stdout)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			require.Contains(t, stderr, tc.says)
			require.True(t, strings.HasSuffix(stderr, "; see "+tc.help+"\n"), stderr)
			require.NotContains(t, stderr, "short flag")
		})
	}
}

// Every flag with a default shows it.
func TestDoMain_helpShowsDefaults(t *testing.T) {
	code, stdout, _ := tool(t, "serve", "--help")
	require.Equal(t, exitGood, code)
	for _, value := range []string{"dist/filter.wasm", "127.0.0.1:8080", "127.0.0.1:9090", "9101"} {
		require.Regexp(t, `\(default\s+`+value+`\)`, stdout)
	}
}

// sgl-router's own --help is what a person types who comes from there.
func TestDoMain_convertHelp(t *testing.T) {
	for _, args := range [][]string{{"convert", "--", "--help"}, {"convert", "--", "--model-id", "demo", "-h"}} {
		code, stdout, stderr := tool(t, args...)
		require.Equal(t, exitGood, code)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "Usage: hostsim convert")
		require.Contains(t, stdout, "Examples:")
		require.Contains(t, stdout, "--worker-urls")
	}
}
