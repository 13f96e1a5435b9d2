package e2e

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// Tests that have the same Envoy one after the other see nothing of each other: a
// request that was open when the first went is cut, its listener is gone, and the second
// finds its own model, counters from zero and a log without the first.
func TestLender_keeps_tests_apart(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			h := host{version, version, envoytest.OverrideHost}
			var (
				process int
				addr    string
				open    net.Conn
			)
			t.Run("former", func(t *testing.T) {
				f := newBackend(t, namedEngines(1, "former")).newFront(t, h, frontSetup{models: onlyModel("former")})
				process, addr = f.envoy.Process(), f.envoy.Addr()
				require.Equal(t, http.StatusOK, f.chat("former", 50).status)
				f.engine(0).Hang(fakes.HangInference)
				var err error
				open, err = net.Dial("tcp", addr)
				require.NoError(t, err)
				_, err = io.WriteString(open, rawPost("/v1/chat/completions", chatBody("former", 50)))
				require.NoError(t, err)
				f.awaitInflight(1)
				f.eventually(func() bool { return f.counter(countRouted) == 2 }, "the requests are not counted")
			})
			defer open.Close()
			_, err := io.ReadAll(open)
			require.NoError(t, err, "the open request is cut when its Envoy goes back")
			_, err = net.Dial("tcp", addr)
			require.Error(t, err, "the listener of the former test")
			t.Run("latter", func(t *testing.T) {
				f := newBackend(t, namedEngines(1, "latter")).newFront(t, h, frontSetup{models: onlyModel("latter")})
				require.Equal(t, process, f.envoy.Process(), "the Envoy of the former test")
				require.Zero(t, f.counter(countRouted))
				require.Equal(t, http.StatusNotFound, f.chat("former", 50).status)
				require.Equal(t, http.StatusOK, f.chat("latter", 50).status)
				f.eventually(func() bool { return f.counter(countRouted) == 1 }, "the request is not counted")
				require.Contains(t, f.log(), `model "latter"`)
				require.NotContains(t, f.log(), "former")
			})
		})
	}
}

// An Envoy that its test has killed is not lent again.
func TestLender_forgets_the_dead(t *testing.T) {
	h := host{envoytest.Newest(), envoytest.Newest(), envoytest.OverrideHost}
	var process int
	t.Run("killed", func(t *testing.T) {
		r := newRig(t, h, setup{engines: plainEngines(1), filter: allModels})
		process = r.envoy.Process()
		r.envoy.Kill()
	})
	t.Run("next", func(t *testing.T) {
		r := newRig(t, h, setup{engines: plainEngines(1), filter: allModels})
		require.NotEqual(t, process, r.envoy.Process())
		require.Equal(t, http.StatusOK, r.chat("m", 50).status)
	})
}

// onlyModel routes one model, round robin.
func onlyModel(name string) string {
	return strings.Replace(allModels, `"m"`, strconv.Quote(name), 1)
}
