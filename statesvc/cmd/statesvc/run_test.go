package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(ctx context.Context, env map[string]string, argv ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = doMain(ctx, func() {}, argv, func(name string) string { return env[name] }, &out, &errs)
	return code, out.String(), errs.String()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const one = "version: 1\nlisten: 127.0.0.1:0\nshutdown: {drain_ms: 0}\nfleet: {static: [{address: '127.0.0.1:1'}]}\n"

func TestDoMain_help(t *testing.T) {
	code, stdout, stderr := run(t.Context(), nil, "--help")
	require.Equal(t, exitGood, code)
	require.Contains(t, stdout, "Examples:")
	require.Contains(t, stdout, "statesvc --config configs/statesvc/demo.yaml")
	require.Empty(t, stderr)
	code, stdout, _ = run(t.Context(), nil, "--version")
	require.Equal(t, exitGood, code)
	require.NotEmpty(t, strings.TrimSpace(stdout))
}

func TestDoMain_wrongUsageIsOneLineAndExit2(t *testing.T) {
	for _, argv := range [][]string{nil, {"--confg", "x"}, {"--config"}, {"--config", "x", "more"}, {"--config", "x", "--log-level", "loud"}} {
		code, _, stderr := run(t.Context(), nil, argv...)
		require.Equal(t, exitUsage, code, "%v", argv)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.True(t, strings.HasPrefix(stderr, "statesvc: "), stderr)
	}
}

func TestDoMain_badConfigurationIsExit1(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	code, _, stderr := run(t.Context(), nil, "--config", missing)
	require.Equal(t, exitBad, code)
	require.Equal(t, "statesvc: configuration: open "+missing+": no such file or directory\n", stderr)

	path := file(t, one+"token_env: POINTSMAN_STATE_TOKEN\n")
	code, _, stderr = run(t.Context(), nil, "--config", path)
	require.Equal(t, exitBad, code)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Contains(t, stderr, "token_env: environment variable POINTSMAN_STATE_TOKEN is empty or unset")

	path = file(t, "verion: 1\nfleet: {static: [{address: x}]}\n")
	code, _, stderr = run(t.Context(), nil, "--config", path)
	require.Equal(t, exitBad, code)
	require.Equal(t, "statesvc: "+path+`: 3 problems:
  verion: unknown key; did you mean version?
  fleet.static[0].address: "x" is not host:port; write for example 127.0.0.1:8000 or [::1]:8000
  version: missing; write version: 1
`, stderr)
}

func TestDoMain_portInUseIsExit1(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	path := file(t, strings.Replace(one, "127.0.0.1:0", taken.Addr().String(), 1))
	code, _, stderr := run(t.Context(), nil, "--config", path)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, "address already in use")
}

func TestDoMain_check(t *testing.T) {
	code, stdout, stderr := run(t.Context(), nil, "--config", file(t, one), "--check")
	require.Equal(t, exitGood, code)
	require.Empty(t, stdout+stderr)
}

// What start refuses, the check refuses too, in the same words, and with the problems
// of the file itself.
func TestDoMain_namesEveryFileThatCannotBeUsed(t *testing.T) {
	broken, garbage := t.TempDir(), file(t, "no PEM")
	require.NoError(t, os.WriteFile(filepath.Join(broken, "tokenizer.json"), []byte(`{"model":{"type":"Unigram"}}`), 0o600))
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"tls and tokenizers": {
			"tls: {cert_file: /nonexistent/c.pem, key_file: /nonexistent/k.pem}\ntokenize: {models: {a: {dir: /nonexistent/a, engine: vllm}, b: {dir: " + broken + ", engine: sglang}}}\n",
			[]string{
				"4 problems:", "tls.cert_file: open /nonexistent/c.pem: no such file", "tls.key_file: open /nonexistent/k.pem",
				"tokenize.models.a.dir: ", "tokenize.models.b.dir: ",
			},
		},
		"one file":  {"tls: {cert_file: " + garbage + ", key_file: /nonexistent/k.pem}\n", []string{"tls.key_file: open /nonexistent/k.pem: no such file"}},
		"not PEM":   {"tls: {cert_file: " + garbage + ", key_file: " + garbage + "}\n", []string{"tls: tls: failed to find any PEM data"}},
		"directory": {"tokenize: {models: {a: {dir: " + garbage + ", engine: vllm}}}\n", []string{"tokenize.models.a.dir: ", "not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, one+c.text)
			for _, argv := range [][]string{{"--config", path}, {"--config", path, "--check"}} {
				code, _, stderr := run(t.Context(), nil, argv...)
				require.Equal(t, exitBad, code)
				for _, want := range c.says {
					require.Contains(t, stderr, want)
				}
			}
			code, _, stderr := run(t.Context(), nil, "--config", file(t, one+c.text+"verion: 1\nlisen: x\n"), "--check")
			require.Equal(t, exitBad, code)
			for _, want := range append([]string{"verion: unknown key", "lisen: unknown key"}, c.says[len(c.says)-1]) {
				require.Contains(t, stderr, want)
			}
		})
	}
}

// lines collects a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestDoMain_servesUntilASignal(t *testing.T) {
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	log, restored := &lines{}, false
	code := make(chan int, 1)
	path := file(t, one)
	go func() {
		code <- doMain(ctx, func() { restored = true }, []string{"--config", path}, os.Getenv, io.Discard, log)
	}()
	found := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
	deadline := time.Now().Add(20 * time.Second)
	var address string
	for address == "" {
		require.True(t, time.Now().Before(deadline), log.String())
		if m := found.FindStringSubmatch(log.String()); m != nil {
			address = m[1]
		}
		time.Sleep(time.Millisecond)
	}
	resp, err := http.Get(fmt.Sprintf("http://%s/healthz", address))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	signal()
	require.Equal(t, exitGood, <-code)
	require.True(t, restored, "a second signal ends the process at once")
	require.Contains(t, log.String(), "state service stopped")
}

// --check looks at what discovery names too, and tells all problems together.
func TestDoMain_checkLooksAtDiscovery(t *testing.T) {
	list := file(t, "workers: [{address: x}]")
	path := file(t, fmt.Sprintf("version: 1\ndiscovery:\n  file: {path: %q}\n  http: {enabled: true, state_file: /none/x}\n  kubernetes: {enabled: true, selector: a in b, kubeconfig: /none}\n", list))
	code, _, stderr := run(t.Context(), nil, "--config", path, "--check")
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, "4 problems:")
	for _, problem := range []string{
		"discovery.file.path: workers[0].address: \"x\" is not host:port", "discovery.http.state_file: ",
		"discovery.kubernetes.selector: ", "discovery.kubernetes.kubeconfig: ",
	} {
		require.Contains(t, stderr, problem)
	}
	path = file(t, fmt.Sprintf("version: 1\ndiscovery: {file: {path: %q}}\n", file(t, "workers: []")))
	code, _, stderr = run(t.Context(), nil, "--config", path, "--check")
	require.Equal(t, exitGood, code, stderr)
}
