package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/doctor"
)

const goodBootstrap = "../../../configs/envoy/override-host.yaml"

// broken writes the good bootstrap with one line less.
func broken(t *testing.T, folder, line string) string {
	text, err := os.ReadFile(goodBootstrap)
	require.NoError(t, err)
	require.Contains(t, string(text), line)
	name := filepath.Join(folder, "envoy.yaml")
	require.NoError(t, os.WriteFile(name, bytes.Replace(text, []byte(line), nil, 1), 0o600))
	return name
}

func TestDoctor(t *testing.T) {
	code, stdout, stderr := tool(t, "doctor", "--envoy-version", "1.36.4", goodBootstrap)
	require.Equal(t, exitGood, code, stderr)
	require.Contains(t, stdout, "Envoy 1.36.4: ok")
	require.Contains(t, stdout, "routes by the body, to engines (override_host), state service pointsman_state at 127.0.0.1:9090")
	require.Contains(t, stdout, "0 errors, 0 warnings, 0 notes\n")

	folder := t.TempDir()
	bad := broken(t, folder, "allow_on_headers_stop_iteration: true")
	code, stdout, stderr = tool(t, "doctor", bad)
	require.Equal(t, exitBad, code)
	require.Equal(t, "hostsim: errors: 1\n", stderr)
	require.Contains(t, stdout, "error    header-pause")
	require.Contains(t, stdout, "fix: set allow_on_headers_stop_iteration: true")

	code, stdout, _ = tool(t, "doctor", "--json", folder, filepath.Join(folder, "gone.yaml"))
	require.Equal(t, exitBad, code)
	var report struct {
		Proxies  []doctor.Picture
		Findings []struct{ Rule, Severity, File, Path, Why, Fix string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Proxies, 1)
	require.Len(t, report.Findings, 2)
	require.Equal(t, "header-pause", report.Findings[0].Rule)
	require.Equal(t, "error", report.Findings[0].Severity)
	require.Equal(t, bad, report.Findings[0].File)
	require.Equal(t, "unreadable", report.Findings[1].Rule)
}

// A folder without anything for doctor is most likely the wrong one.
func TestDoctor_nothing(t *testing.T) {
	folder := t.TempDir()
	for range 2 { // an empty one, and one with files of other tools
		code, stdout, stderr := tool(t, "doctor", folder)
		require.Equal(t, exitBad, code)
		require.Empty(t, stdout)
		require.Equal(t, "hostsim: nothing to look at in "+folder+"\n", stderr)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "values.yaml"), []byte("a: b\n"), 0o600))
	}
}

func TestDoctor_rules(t *testing.T) {
	code, stdout, stderr := tool(t, "doctor", "--rules")
	require.Equal(t, exitGood, code, stderr)
	require.Equal(t, doctor.Table(), stdout)
}

func TestDoctor_usage(t *testing.T) {
	for line, says := range map[string]string{
		"doctor":                         "name the files to look at",
		"doctor --envoy-version new x":   `"new" is not a version of Envoy`,
		"doctor --envoyversion 1.36.4 x": "--envoyversion",
	} {
		code, stdout, stderr := tool(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, says)
		require.Contains(t, stderr, "see hostsim doctor --help")
	}
	code, stdout, _ := tool(t, "doctor", "--help")
	require.Equal(t, exitGood, code)
	require.Contains(t, stdout, "curl -s localhost:9901/config_dump | hostsim doctor -")
}

// What comes through a pipe is read like a file.
func TestDoctor_stdin(t *testing.T) {
	text, err := os.ReadFile(goodBootstrap)
	require.NoError(t, err)
	var out bytes.Buffer
	c := doctorCmd{Files: []string{"-"}, in: bytes.NewReader(text)}
	require.NoError(t, c.Run(console{&out, &out}))
	require.Contains(t, out.String(), "stdin: Envoy bootstrap")
}

// targets are the command lines of render that a configuration is rendered by.
func targets() [][]string {
	return [][]string{
		{"envoy", "--state", "10.0.0.5:9090", "--engine", "10.0.0.7:8000", "--engine", "10.0.0.8:8000"},
		{"envoy", "--engine", "10.0.0.7:8000"},
		{"envoy"},
		{"istio", "--state", "statesvc.llm.svc:9090", "--engine", "engines.llm.svc:8000", "--wasm", "/etc/istio/filter.wasm"},
		{"istio", "--state", "10.0.0.5:9090", "--engine", "10.0.0.7:8000", "--engine", "10.0.0.8:8000", "--wasm-url", "https://modules.example/filter.wasm", "--wasm-sha256", strings.Repeat("ab", 32)},
		{"istio", "--header-only", "--state", "10.0.0.5:9090", "--engine", "10.0.0.7:8000", "--wasm", "/etc/istio/filter.wasm"},
		{"envoy-gateway", "--engine", "10.0.0.7:8000", "--state", "10.0.0.5:9090", "--wasm-url", "https://modules.example/filter.wasm", "--wasm-sha256", strings.Repeat("ab", 32)},
		{"envoy-gateway", "--engine-service", "engines:8000", "--wasm-url", "oci://registry.example/filter@sha256:" + strings.Repeat("ab", 32)},
		{"kubernetes", "--image", "registry.example/statesvc:1"},
	}
}

// otherHeader writes a configuration that names engines by another header.
func otherHeader(t *testing.T) string {
	text, err := os.ReadFile("../../../configs/filter/demo.json")
	require.NoError(t, err)
	const before = `"version": 1,`
	require.Contains(t, string(text), before)
	name := filepath.Join(t.TempDir(), "other-header.json")
	after := before + ` "endpoint_header": "x-gateway-destination-endpoint",`
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(text), before, after, 1)), 0o600))
	return name
}

// Nothing is wrong with anything that render writes. A target that cannot express a
// configuration refuses it; every target takes some.
func TestDoctor_rendered(t *testing.T) {
	configs, err := filepath.Glob("../../../configs/filter/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, configs)
	configs = append(configs, otherHeader(t))
	for _, target := range targets() {
		rendered := 0
		for _, config := range configs {
			folder := t.TempDir()
			args := append([]string{"render"}, target...)
			if code, _, stderr := tool(t, append(args, "--config", config, "-o", folder)...); code != exitGood {
				require.Contains(t, stderr, "refused: ", target)
				continue
			}
			rendered++
			code, stdout, stderr := tool(t, "doctor", folder)
			require.Equal(t, exitGood, code, "%s %s: %s %s", target, config, stdout, stderr)
			require.Contains(t, stdout, "0 errors, 0 warnings, ", "%s %s", target, config)
			if !slices.Contains(target, "--header-only") { // of which a note tells
				require.Contains(t, stdout, ", 0 notes\n", "%s %s: %s", target, config, stdout)
			}
		}
		require.NotZero(t, rendered, target)
	}
}
