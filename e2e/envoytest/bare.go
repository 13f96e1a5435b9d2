package envoytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// StartBare runs an Envoy with a bootstrap in JSON that is not one of the shipped, and
// waits until it listens. addr and admin are where the bootstrap puts its listener and
// its administration page.
func StartBare(t testing.TB, version string, config []byte, addr, admin string) *Envoy {
	t.Helper()
	e := newEnvoy(addr, admin)
	e.run(t, Options{Version: version}, Binary(t, version), config)
	require.Eventually(t, func() bool { return e.live() || e.Exited() }, 180*time.Second, 50*time.Millisecond, "envoy %s is not live:\n%s", version, e.log)
	require.False(t, e.Exited(), "envoy %s ended:\n%s", version, e.log)
	return e
}

// Prometheus is the page that Prometheus reads.
func (e *Envoy) Prometheus() (string, error) { return e.get("/stats/prometheus?usedonly") }
