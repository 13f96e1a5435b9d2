package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/simulate"
	"github.com/stretchr/testify/require"
)

var filter envoytest.Builder

func TestMain(m *testing.M) {
	code := m.Run()
	if err := filter.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

func simulated(t *testing.T) *hostsim.Module {
	t.Helper()
	// A remembered result counts only while the sources that this test does not
	// import are the same.
	require.NoError(t, filepath.WalkDir("../../../wasmfilter", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = os.Stat(path)
		return err
	}))
	code, err := os.ReadFile(filter.Module(t))
	require.NoError(t, err)
	module, err := hostsim.Load(context.Background(), code, hostsim.ModuleOptions{Profile: hostsim.Envoy139})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close(context.Background())) })
	return module
}

func TestSimulate_repeats_itself(t *testing.T) {
	module := simulated(t)
	for _, policy := range []string{"history", "local"} {
		s := func() *simulate.Result {
			r, err := sessions(800_000, 4).simulation(policy, 7).run(t.Context(), module)
			require.NoError(t, err)
			return r
		}
		first, second := s(), s()
		require.Equal(t, first, second, policy)
	}
}

// listened is a service that counts the calls that came on a stream: they have no content type.
type listened struct {
	*simulatedState
	streamed, requested int
}

func (l *listened) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == wire.ObservePath {
		if r.Header.Get("content-type") == "" {
			l.streamed++
		} else {
			l.requested++
		}
	}
	l.simulatedState.ServeHTTP(w, r)
}

// Calls on a stream are on the virtual clock as well.
func TestSimulate_calls_on_a_stream(t *testing.T) {
	module := simulated(t)
	run := func() (*simulate.Result, *listened) {
		setup, err := sessions(400_000, 4).simulation("local", 7).setup(module)
		require.NoError(t, err)
		setup.Config = bytes.Replace(setup.Config, []byte(`"state": {`), []byte(`"state": {"call_stream": true, `), 1)
		service := &listened{simulatedState: setup.Service.(*simulatedState)}
		setup.Service = service
		r, err := setup.Run(t.Context())
		require.NoError(t, err)
		return r, service
	}
	first, service := run()
	second, _ := run()
	require.Equal(t, first, second)
	require.Greater(t, service.streamed, service.requested)
	require.Zero(t, first.Failed)
}

func TestSimulate_prints_a_table(t *testing.T) {
	var out, err bytes.Buffer
	code := doMain(t.Context(), []string{"simulate", "--filter", filter.Module(t), "--workload", "hot", "--policy", "round_robin,local"}, &out, &err)
	require.Equal(t, exitGood, code, err.String())
	require.Regexp(t, `^policy +seed +requests +hit rate +busiest/mean +req/s +p50 ms +failed\nround_robin +1 +1500 .*\nlocal +1 +1500 .*\n$`, out.String())

	for _, args := range [][]string{{"--policy", "magic"}, {"--engines", "0"}, {"--workload", "magic"}} {
		code = doMain(t.Context(), append([]string{"simulate", "--filter", filter.Module(t)}, args...), &out, &err)
		require.Equal(t, exitUsage, code, "%q", args)
	}
}

// What is simulated, and judged, is what is shipped.
func TestSimulate_has_the_shipped_settings(t *testing.T) {
	for policy, file := range map[string]string{"history": "cache-aware-by-history.json", "local_private": "cache-aware.json"} {
		text, err := os.ReadFile(filepath.Join(envoytest.Root(t), "configs", "filter", file))
		require.NoError(t, err)
		var doc struct {
			Models map[string]struct {
				Buckets []struct {
					Groups struct {
						Plain struct{ Policy json.RawMessage }
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal(text, &doc))
		simulated, err := policyConfig(policy)
		require.NoError(t, err)
		require.JSONEq(t, string(doc.Models["demo"].Buckets[0].Groups.Plain.Policy), simulated, file)
	}
}
