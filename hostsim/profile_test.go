package hostsim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

func TestProfiles_linkWhatEnvoyLinks(t *testing.T) {
	var env, wasi []string
	for _, i := range wasmfile.AllowedImports133() {
		if i.Module == wasmfile.EnvModule {
			env = append(env, i.Name)
		} else {
			wasi = append(wasi, i.Name)
		}
	}
	var linked []string
	for _, f := range envFuncs() {
		linked = append(linked, f.name)
	}
	require.ElementsMatch(t, env, linked)
	var old []string
	for _, f := range wasiHostFuncs(Envoy133) {
		old = append(old, f.name)
	}
	require.ElementsMatch(t, wasi, old)
	require.Len(t, wasiHostFuncs(Envoy139), 46)
}

func TestProfiles_restrictions(t *testing.T) {
	old, recent := Envoy133.restrictions(), Envoy139.restrictions()
	require.Equal(t, map[string]bool{"proxy_log": true, "fd_write": true, "clock_time_get": true}, old.allocator)
	require.False(t, old.startUp["poll_oneoff"])
	require.True(t, recent.startUp["poll_oneoff"])
	require.True(t, recent.allocator["poll_oneoff"])
	for _, r := range []restrictions{old, recent} {
		require.True(t, r.startUp["random_get"])
		require.False(t, r.startUp["sched_yield"])
		require.False(t, r.startUp["proxy_get_property"])
	}
}
