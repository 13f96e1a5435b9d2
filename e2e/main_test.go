// Package e2e runs the real parts together: filter.wasm in real Envoys and in
// hostsim, the state service, and fake engines on real sockets.
package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
)

var (
	module envoytest.Builder
	envoys envoytest.Lender
)

// atATime is how many tests of those that may run beside others do, unless -parallel says
// otherwise. They wait for ticks and probes more than they compute.
const atATime = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if !given("test.parallel") {
		_ = flag.Set("test.parallel", atATime)
	}
	code := m.Run()
	envoys.Close()
	if err := module.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// given reports whether the command line has a flag.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
