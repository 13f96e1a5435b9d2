package envoytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Given is a bootstrap that is run as it is.
type Given struct {
	Version string // of Envoy
	Config  []byte // YAML
	Listen  string // the address in it that clients send to
	Admin   string // the address in it of the administration page
	Env     []string
}

// Start runs an Envoy and waits until it listens.
func (g Given) Start(t testing.TB) *Envoy {
	t.Helper()
	e := newEnvoy(g.Listen, g.Admin)
	e.launch(t, 1, "wasm:info", Binary(t, g.Version), g.file(t), g.Env)
	require.Eventually(t, func() bool { return e.live() || e.Exited() }, 180*time.Second, 50*time.Millisecond, "envoy %s is not live:\n%s", g.Version, e.log)
	require.False(t, e.Exited(), "envoy %s ended:\n%s", g.Version, e.log)
	return e
}

// Validate asks an Envoy whether it would start, and gives what it says.
func (g Given) Validate(t testing.TB) (string, error) {
	t.Helper()
	cmd := exec.Command(Binary(t, g.Version), "--mode", "validate", "--log-level", "warning", "-c", g.file(t))
	cmd.Env = append(os.Environ(), g.Env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (g Given) file(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy.yaml")
	require.NoError(t, os.WriteFile(path, g.Config, 0o600))
	return path
}

// Dump reads the configuration that an Envoy runs, as JSON.
func (e *Envoy) Dump() (string, error) { return e.get("/config_dump") }
