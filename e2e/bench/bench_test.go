package bench_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pointsman/pointsman/e2e/bench"
	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/engineproc"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//nolint:gochecknoglobals // one module for the test process
var module envoytest.Builder

// asEngines makes the test binary a process of engines.
const asEngines = "BENCH_TEST_ENGINES"

func TestMain(m *testing.M) {
	if os.Getenv(asEngines) != "" {
		os.Exit(serveEngines())
	}
	code := m.Run()
	if err := errors.Join(module.Close(), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func serveEngines() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	engines, err := asked()
	if err == nil {
		err = engineproc.Serve(ctx, engines, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// asked starts the engines that the flags ask for.
func asked() (engineproc.Engines, error) {
	var c engine.Config
	for i, arg := range os.Args {
		switch arg {
		case "--count":
			if _, err := fmt.Sscan(os.Args[i+1], &c.Engines); err != nil {
				return nil, err
			}
		case cached.Flag:
			return cached.Start(os.Args[i+1])
		}
	}
	return engine.Start(c)
}

// options are a run as small as can be.
func options(t *testing.T) bench.Options {
	t.Helper()
	root := envoytest.Root(t)
	state := filepath.Join(t.TempDir(), "statesvc")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", state, "./statesvc/cmd/statesvc")
	build.Dir = root
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	envoy, err := envoytest.FindBinary(root, envoytest.Versions()[0])
	require.NoError(t, err)
	t.Setenv(asEngines, "1")
	return bench.Options{
		Parts: rig.Parts{
			Root: root, Engines: []string{os.Args[0], "engines"}, State: state, Filter: module.Module(t), Envoy: envoy,
			Tokenizer: filepath.Join(root, ".tokenizers", "qwen3"),
		},
		Rounds: 1, Scale: 0.01, Workers: []int{4}, Bodies: []int{4 << 10}, Command: "make bench",
	}
}

// Figures of a machine under test mean nothing: what counts is that every part
// runs and every table has its rows.
func TestRun_makes_every_table(t *testing.T) {
	o := options(t)
	const figure = `-?\d+(\.\d+)? \(-?\d+(\.\d+)? to -?\d+(\.\d+)?\)`
	for section, rows := range map[string][]string{
		"requests": {`\| 4 +\| 4 KB \|( +FIGURE +\|| FIGURE +\|){5}`},
		"sessions": {`\| known session +\| \d\.\d\d +\|( +FIGURE +\|| FIGURE +\|){5}`, `\| new session +\| \d\.\d\d +\|`, `\| known session, call_stream +\| 1\.00 +\|`, `\| no call \(power_of_two\) +\| 0\.00 +\|`, `\| whole answer, p99 ms +\|( FIGURE +\|){4}`},
		"history":  {`\| 4 KB \| history +\|( FIGURE +\|){4} 0\.00 +\| FIGURE`, `\| 4 KB \| local +\|( FIGURE +\|){4} 1\.00 +\| FIGURE`, `\| 4 KB \| local, call_stream +\|( FIGURE +\|){4} 1\.00 +\| FIGURE`},
		"streams":  {`\| CPU per chunk, us +\|( FIGURE +\|){4}`},
		"latency":  {`\| whole answer, p99 ms +\|( FIGURE +\|){4}`, `\| first token, p50 ms +\|( FIGURE +\|){4}`},
		"tokenize": {`\| cold +\| 4KB +\|( FIGURE +\|){2} 5; `, `\| growing chat +\| 128KB +\|( FIGURE +\|){2} 200; `, `\| whole request +\| 4KB +\|( FIGURE +\|){2}`},
		"observe":  {`\| 4KB +\| cold +\|( FIGURE +\|){3}`, `\| 128KB +\| growing +\|( FIGURE +\|){3}`},
		"turns":    {`\| first +\| p50 +\|( +FIGURE +\|){5}`, `\| later +\| p99 +\|( +FIGURE +\|){5}`},
		"cacheload": {
			`\| 1500000 +\| pointsman cache_aware, history +\|( FIGURE +\|){6}`, `\| 1500000 +\| pointsman cache_aware, local +\|( FIGURE +\|){6}`,
			`\| 1500000 +\| pointsman session_aware \(session header\) +\|( FIGURE +\|){6}`, `\| 800000 +\| pointsman cache_aware, local +\|( FIGURE +\|){6}`,
		},
		"hotprompt":  {`\| 16 KB +\| pointsman round_robin +\| FIGURE +\| - +\|`, `\| 32 KB +\| pointsman cache_aware, history +\|( FIGURE +\|){4}`},
		"peerscache": {`\| 1 KB +\| pointsman cache_aware, history +\| FIGURE`, `\| 16 KB +\| pointsman cache_aware, local +\|( FIGURE +\|){4}`, `\| 256 KB +\| pointsman`},
		"sync":       {`\| 100 +\| nothing +\| FIGURE`, `\| 1000 +\| every load +\| FIGURE`, `\| 1000 +\| whole fleet +\| FIGURE`},
		"guest":      {`\| 1000 +\| 64 KB \| FIGURE`, `\| proxy_on_request_headers +\| callback +\| 1 +\| 1 +\|`, `\| all callbacks +\| +\| (\d+) +\| (\d+) +\|`},
	} {
		t.Run(section, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, bench.Run(t.Context(), o, []string{section}, &out))
			require.Contains(t, out.String(), "`make bench SECTIONS="+section+"`")
			for _, row := range rows {
				require.Regexp(t, strings.ReplaceAll(row, "FIGURE", figure), out.String())
			}
		})
	}
}

func TestRun_streamed_chunks_cost_no_callback(t *testing.T) {
	var out strings.Builder
	require.NoError(t, bench.Run(t.Context(), options(t), []string{"guest"}, &out))
	counts := regexp.MustCompile(`all callbacks +\| +\| (\d+) +\| (\d+) +\|`).FindStringSubmatch(out.String())
	require.Len(t, counts, 3, out.String())
	require.Equal(t, counts[1], counts[2], "callbacks with and without streamed chunks")
}

func TestRun_refuses_an_unknown_section(t *testing.T) {
	var out strings.Builder
	require.ErrorContains(t, bench.Run(t.Context(), bench.Options{}, []string{"nonsense"}, &out), `no section "nonsense"`)
}
