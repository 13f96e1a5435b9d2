package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const tokenVariable = "POINTSMAN_STATE_TOKEN"

// guarded is a rig whose state service wants a token, with the proxy still to
// start, and the filter configuration that names the variable.
func guarded(t *testing.T, h host) (r *rig, filter string) {
	t.Helper()
	t.Setenv(tokenVariable, "open-sesame")
	fleet, err := fakes.StartFleet(plainEngines(2)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	r = &rig{t: t, host: h, fleet: fleet, client: &http.Client{}}
	t.Cleanup(r.client.CloseIdleConnections)
	r.state = newState(t, fleet)
	r.state.file = strings.Replace(r.state.file, "fleet:\n", "token_env: "+tokenVariable+"\nfleet:\n", 1)
	r.state.start()
	return r, `{"version":1,"endpoint_mode":"override_host","state":{"cluster":"pointsman_state","token_env":"` + tokenVariable + `","call_stream":true},"models":` + allModels + `}`
}

// The filter shows the token of its VM's environment and gets the fleet, and a stream
// for its calls; with another token it gets neither.
func TestToken_envoy(t *testing.T) {
	for name, tc := range map[string]struct {
		token  string
		status int
	}{"right": {"open-sesame", http.StatusOK}, "wrong": {"open-barley", http.StatusServiceUnavailable}} {
		t.Run(name, func(t *testing.T) {
			r, filter := guarded(t, host{version: envoytest.Newest(), bootstrap: envoytest.OverrideHost})
			e := envoytest.Start(t, envoytest.Options{
				Version: r.host.version, Bootstrap: r.host.bootstrap, Module: module.Module(t), Filter: []byte(filter),
				State: r.state.addr, Engines: r.fleet.Addrs(), Env: map[string]string{tokenVariable: tc.token},
			})
			r.envoy, r.url, r.log = e, e.URL(), e.Log
			require.Equal(t, tc.status, r.chat("m", 50).status, "%s", r.log())
			if tc.status == http.StatusOK {
				r.eventually(func() bool { return r.counter(streamOpened) == 1 }, "no stream is opened")
				return
			}
			r.eventually(func() bool {
				return strings.Contains(r.log(), noStream+": it was closed: the state service refuses the token of state.token_env")
			}, "the stream is not refused")
			require.Zero(t, r.counter(streamOpened))
		})
	}
}

func TestToken_hostsim(t *testing.T) {
	r, filter := guarded(t, host{bootstrap: envoytest.OverrideHost})
	cfg := r.hostsimConfig(setup{}, filter, r.fleet.Addrs(), r.state.addr)
	cfg.Env = map[string]string{tokenVariable: os.Getenv(tokenVariable)}
	r.runHostsim(cfg)
	require.Equal(t, http.StatusOK, r.chat("m", 50).status, "%s", r.log())
	r.eventually(func() bool { return r.counter(streamOpened) == 1 }, "no stream is opened")

	// A variable that is named and not set is a mistake, not an open door.
	cfg.Env = nil
	_, err := hostsim.NewProxy(cfg)
	require.ErrorContains(t, err, tokenVariable+" is not set")
}
