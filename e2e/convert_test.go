package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// What convert prints for a command line of sgl-router serves the engines that
// the command line names.
func TestConvert_output_serves(t *testing.T) {
	tool := command(t, "./hostsim/cmd/hostsim")
	fleet, err := fakes.StartFleet(fakes.Replicate(fakes.Config{Dialect: fakes.SGLang}, 2)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	args := []string{"convert", "--", "--model-id", "demo", "--policy", "power_of_n", "--power-of-n-choices=2", "--filter", "overloaded", "--max-in-flight", "8", "--worker-urls"}
	for _, name := range []string{"engine-0", "engine-1"} {
		engine, ok := fleet.Engine(name)
		require.True(t, ok)
		args = append(args, engine.URL())
	}
	config, err := exec.Command(tool, args...).Output()
	require.NoError(t, err)

	url := serveConfig(t, tool, write(t, "filter.json", string(config)))
	for range 8 {
		res, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"model":"demo","prompt":"which way","max_tokens":2}`))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
		require.Contains(t, res.Header.Get("x-fake-engine"), "engine-")
	}
}

// serveConfig starts hostsim serve and gives its URL.
func serveConfig(t *testing.T, tool, config string) string {
	t.Helper()
	cmd := exec.Command(tool, "serve", "--quiet", "--vms", "1", "--listen", "127.0.0.1:0", "--filter", module.Module(t), "--config", config)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(120*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		timer.Stop()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "Pointsman is at "); ok {
			return url
		}
	}
	require.Fail(t, "hostsim serve ended", errOut.String())
	return ""
}

func TestBadInput_convert(t *testing.T) {
	tool := command(t, "./hostsim/cmd/hostsim")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // each on a line of its own
	}{
		{"nothing", nil, 2, []string{"no flags to convert"}},
		{"unknown flag", []string{"--", "--model-id", "m", "--worker-urls", "http://10.0.0.7:1", "--polcy", "random"}, 2, []string{"did you mean --policy?"}},
		{"missing value", []string{"--", "--worker-urls", "http://10.0.0.7:1", "--model-id"}, 2, []string{"--model-id needs a value"}},
		{"flags before the dashes", []string{"--policy", "random"}, 2, []string{"come after --"}},
		{"bad pair", []string{"--pair", "a", "--", "--model-id", "m"}, 2, []string{"--pair a: write"}},
		{
			"refusals",
			[]string{"--", "--model-id", "m", "--worker-urls", "http://engine:1", "--policy", "fused_score", "--stable-pair"},
			1,
			[]string{"refused: --worker-urls http://engine:1: ", "refused: --policy fused_score: ", "refused: --stable-pair: "},
		},
		{"missing file", []string{"--", "--model-id", "m", "--worker-urls", "http://10.0.0.7:1", "--reorg-config", "/no/such.json"}, 1, []string{"refused: --reorg-config /no/such.json: cannot be read"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.Command(tool, append([]string{"convert"}, tc.args...)...)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Run(), &exit)
			require.Equal(t, tc.code, exit.ExitCode())
			require.Empty(t, out.String())
			for _, want := range tc.want {
				require.Contains(t, errOut.String(), want)
			}
		})
	}
}
