package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

//nolint:gochecknoglobals // one module for the test process
var module envoytest.Builder

func TestMain(m *testing.M) {
	code := m.Run()
	if err := module.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// build builds a program of the repository.
func build(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = envoytest.Root(t)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// A few thousand requests through an Envoy and hostsim, nothing but what was
// asked for.
func TestSoak_smoke(t *testing.T) {
	soak, state := build(t, "./e2e/soak/cmd/soak"), build(t, "./statesvc/cmd/statesvc")
	for name, args := range map[string][]string{
		"envoy":   {"--requests", "3000", "--large", "3", "--envoy", envoytest.Newest(), "--calls", "stream"},
		"hostsim": {"--requests", "1000", "--large", "1", "--envoy", envoytest.Oldest(), "--host", "hostsim", "--calls", "http"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(soak, append(args, "--filter", module.Module(t), "--state", state, "--root", envoytest.Root(t))...)
			var report, progress bytes.Buffer
			cmd.Stdout, cmd.Stderr = &report, &progress
			require.NoError(t, cmd.Run(), "%s\n%s", &progress, &report)
			require.Regexp(t, `(?m)^\*\*.*: good\*\*$`, report.String())
			require.Regexp(t, `(?m)^\| wasm memory, all VMs, MiB .* [1-9][0-9]*\.[0-9] +\|`, report.String())
		})
	}
}

func TestSoak_wrong_usage(t *testing.T) {
	cmd := exec.Command(build(t, "./e2e/soak/cmd/soak"), "--requests", "1", "--large", "2")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.Contains(t, string(out), "no more large bodies than requests")
}
