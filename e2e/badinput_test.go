package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// command builds one of our commands and gives its path.
func command(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = envoytest.Root(t)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// runTool runs a command that must end by itself and gives its exit code and
// what it wrote to stderr.
func runTool(t *testing.T, name string, args ...string) (code int, stderr string) {
	t.Helper()
	var errOut bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errOut
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit, "%s", errOut.String())
		return exit.ExitCode(), errOut.String()
	}
	return 0, errOut.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// faultyFilter has one mistake of every kind the issue names.
const faultyFilter = `{
	"version": 1,
	"enpoint_mode": "override_host",
	"workers": [
		{"id": "a", "address": "127.0.0.1:9101", "models": ["m"]},
		{"id": "b", "address": "127.0.0.1:9102", "models": ["m"], "role": "decode"}
	],
	"models": {"m": {"buckets": [
		{"id": "one", "limits": {"min": 10, "max": 5}, "groups": {"plain": {"worker_ids": ["nobody"], "policy": {"type": "round_robin"}}}},
		{"id": "one", "groups": {"plain": {"policy": {"type": "random", "admission": {"max_inflight_requests": 0}}},
		                         "pd": {"prefill": {"policy": {"type": "random"}}}}}
	]}}
}`

func faultyFilterPaths() []string {
	return []string{
		`enpoint_mode: unknown key; did you mean "endpoint_mode"?`,
		`workers[1].role: model "m" would be served by plain and by prefill/decode engines`,
		`models.m.buckets[0].limits: min 10 is above max 5`,
		`models.m.buckets[0].groups.plain.worker_ids[0]: "nobody" is not among workers`,
		`models.m.buckets[1].id: "one" stands twice`,
		`models.m.buckets[1].groups: has both plain and pd`,
		`models.m.buckets[1].groups.plain.policy.admission.max_inflight_requests: 0 admits nothing`,
		`models.m.buckets[1].groups.pd.decode: is required`,
	}
}

func TestBadInput_hostsim(t *testing.T) {
	hostsim := command(t, "./hostsim/cmd/hostsim")
	filter := module.Module(t)

	code, stderr := runTool(t, hostsim, "serve", "--config", write(t, "filter.json", faultyFilter), "--filter", filter)
	require.Equal(t, 1, code)
	for _, want := range faultyFilterPaths() {
		require.Contains(t, stderr, want)
	}

	good := write(t, "filter.json", `{"version":1,"workers":[{"address":"127.0.0.1:9","models":["m"]}],"models":{"m":{"buckets":[{"id":"a","groups":{"plain":{"policy":{"type":"random"}}}}]}}}`)
	corrupt := write(t, "filter.wasm", "\x00asm\x01\x00\x00\x00 and then rubbish")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"missing module", []string{"serve", "--config", good, "--filter", "/no/such/filter.wasm"}, 1, "no such file"},
		{"corrupt module", []string{"serve", "--config", good, "--filter", corrupt}, 1, "filter"},
		{"empty module", []string{"serve", "--config", good, "--filter", write(t, "empty.wasm", "")}, 1, "filter"},
		{"missing config", []string{"serve", "--config", "/no/such/filter.json", "--filter", filter}, 1, "no such file"},
		{"no fleet", []string{"serve"}, 2, "--config"},
		{"unknown flag", []string{"serve", "--demmo", "4"}, 2, "--demmo"},
		{"too many engines", []string{"serve", "--demo", "1000"}, 2, "--demo 1000"},
		{"inspect rubbish", []string{"inspect", corrupt}, 1, "filter.wasm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stderr := runTool(t, hostsim, tc.args...)
			require.Equal(t, tc.code, code, stderr)
			require.Contains(t, stderr, tc.want)
			require.Len(t, strings.Split(strings.TrimSpace(stderr), "\n"), 1, stderr)
		})
	}
}

func TestBadInput_statesvc(t *testing.T) {
	statesvc := command(t, "./statesvc/cmd/statesvc")
	file := write(t, "statesvc.yaml", `version: 1
lisen: 127.0.0.1:0
fleet:
  static:
    - {id: a, address: "127.0.0.1:9101"}
    - {id: a, address: "127.0.0.1:9101"}
    - {id: c, address: "no port"}
health: {interval_ms: 0}
load: {freshness_ms: -5}
`)
	code, stderr := runTool(t, statesvc, "--config", file)
	require.Equal(t, 1, code)
	for _, want := range []string{"lisen", "fleet.static[1].id", "fleet.static[1].address", "fleet.static[2].address", "health.interval_ms", "load.freshness_ms"} {
		require.Contains(t, stderr, want)
	}
	code, stderr = runTool(t, statesvc, "--config", "/no/such/file.yaml")
	require.Equal(t, 1, code)
	require.Len(t, strings.Split(strings.TrimSpace(stderr), "\n"), 1, stderr)
	code, _ = runTool(t, statesvc, "--confg", file)
	require.Equal(t, 2, code)
}

// An Envoy refuses to start with a configuration that the filter refuses, and
// its log names every mistake.
func TestBadInput_envoy(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			e := envoytest.Launch(t, envoytest.Options{
				Version: version, Bootstrap: envoytest.OverrideHost, Module: module.Module(t),
				Filter: []byte(faultyFilter), Engines: []string{"127.0.0.1:9101"},
			})
			require.Eventually(t, e.Exited, 60*time.Second, 50*time.Millisecond, "envoy runs with a faulty configuration")
			for _, want := range faultyFilterPaths() {
				require.Contains(t, e.Log(), want)
			}
		})
	}
}

// Garbage on any endpoint of the state service is a 4xx and changes nothing.
func TestBadInput_state_service_endpoints(t *testing.T) {
	fleet, err := fakes.StartFleet(plainEngines(2)...)
	require.NoError(t, err)
	defer fleet.StopAll()
	state := newState(t, fleet)
	state.start()
	require.Eventually(t, func() bool { return state.workers()["engine-1"].Healthy }, 10*time.Second, 20*time.Millisecond)
	before := state.workers()
	for _, path := range []string{"/v1/sync", "/v1/workers", "/v1/observe", "/v1/bind", "/v1/nothing", "/metrics", "/healthz"} {
		for name, body := range garbage() {
			resp, err := http.Post("http://"+state.addr+path, "application/x-protobuf", strings.NewReader(body))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			require.GreaterOrEqual(t, resp.StatusCode, 400, "%s %s", path, name)
			require.Less(t, resp.StatusCode, 500, "%s %s", path, name)
		}
	}
	require.Equal(t, before, state.workers())
}

func garbage() map[string]string {
	return map[string]string{
		"empty": "", "text": "hello", "json": `{"context": }`, "zeros": strings.Repeat("\x00", 100), "ones": strings.Repeat("\xff", 1000),
		"endless length": "\x4a\xff\xff\xff\xff\x0f", "half": "\x09\x01\x02\x03", "large": strings.Repeat("a", 8<<20),
	}
}
