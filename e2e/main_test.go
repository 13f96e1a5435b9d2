// Package e2e runs the real parts together: filter.wasm in real Envoys and in
// hostsim, the state service, and fake engines on real sockets.
package e2e

import (
	"os"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
)

var (
	module envoytest.Builder
	envoys envoytest.Lender
)

func TestMain(m *testing.M) {
	code := m.Run()
	envoys.Close()
	if err := module.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}
