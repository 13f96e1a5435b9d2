// Package envoytest runs a real Envoy for tests, from the shipped bootstraps and
// the binaries that `make envoys` installs. Envoys listen on loopback and are
// stopped by process id when the test ends.
package envoytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Versions are the Envoys that tests run, newest first: those in the environment
// variable ENVOY_VERSIONS, else the newest and the oldest that are supported.
func Versions() []string {
	if named := strings.Fields(os.Getenv("ENVOY_VERSIONS")); len(named) > 0 {
		return named
	}
	return []string{"1.40.0", "1.36.4"}
}

// Newest is the first of Versions.
func Newest() string { return Versions()[0] }

// Oldest is the last of Versions.
func Oldest() string { return Versions()[len(Versions())-1] }

// Bootstrap names a shipped bootstrap, configs/envoy/NAME.yaml.
type Bootstrap string

// The shipped bootstraps.
const (
	OverrideHost Bootstrap = "override-host"
	OriginalDst  Bootstrap = "original-dst"
)

// Options say what to run.
type Options struct {
	Version       string
	Bootstrap     Bootstrap
	Module        string   // path of filter.wasm
	Filter        []byte   // filter configuration
	State         string   // address of the state service; a closed port is fine
	StateHTTP1    bool     // the state cluster speaks HTTP/1.1 though the filter wants a stream
	Engines       []string // addresses for Envoy's own clusters
	NoHeaderPause bool     // leave out allow_on_headers_stop_iteration
	Concurrency   int      // worker threads; 0 is 1
	Env           map[string]string
	Manager       map[string]any // further settings of the connection manager, over the shipped ones
	Trace         bool           // log every call between Envoy and the module
	// EndpointHeader is read in place of x-pointsman-endpoint.
	EndpointHeader string
	// Before are HTTP filters in front of the module.
	Before []map[string]any
}

// Envoy is a running proxy.
type Envoy struct {
	addr, admin string
	cmd         *exec.Cmd
	log         *logBuffer
	from        int // where its test's part of the log begins
	done        chan struct{}
}

func newEnvoy(addr, admin string) *Envoy {
	return &Envoy{addr: addr, admin: admin, log: &logBuffer{}, done: make(chan struct{})}
}

// Start runs an Envoy and waits until it listens.
func Start(t testing.TB, o Options) *Envoy {
	t.Helper()
	e := Launch(t, o)
	require.Eventually(t, func() bool { return e.live() || e.Exited() }, 180*time.Second, 50*time.Millisecond, "envoy %s is not live:\n%s", o.Version, e.log)
	require.False(t, e.Exited(), "envoy %s ended:\n%s", o.Version, e.log)
	return e
}

// Launch runs an Envoy and does not wait. It is for configurations that Envoy
// must refuse.
func Launch(t testing.TB, o Options) *Envoy {
	t.Helper()
	binary := Binary(t, o.Version)
	e := newEnvoy(FreePort(t), FreePort(t))
	if o.State == "" {
		o.State = FreePort(t)
	}
	config, err := bootstrap(o, e.addr, e.admin)
	require.NoError(t, err)
	e.run(t, o, binary, config)
	return e
}

// run starts the process with a bootstrap and further flags.
func (e *Envoy) run(t testing.TB, o Options, binary string, config []byte, flags ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap.json")
	require.NoError(t, os.WriteFile(path, config, 0o600))
	level := "wasm:info"
	if o.Trace {
		level = "wasm:trace"
	}
	e.launch(t, max(o.Concurrency, 1), level, binary, path, nil, flags...)
}

// launch starts the process with a bootstrap's file, for the time of a test.
func (e *Envoy) launch(t testing.TB, threads int, level, binary, path string, env []string, flags ...string) {
	t.Helper()
	require.NoError(t, e.spawn(threads, level, binary, path, env, flags...))
	t.Cleanup(e.Kill)
}

// spawn starts the process.
func (e *Envoy) spawn(threads int, level, binary, path string, env []string, flags ...string) error {
	args := append([]string{
		"-c", path, "--concurrency", strconv.Itoa(threads),
		"--disable-hot-restart", "--log-level", "warning", "--component-log-level", level,
	}, flags...)
	e.cmd = exec.Command(binary, args...)
	e.cmd.Env = append(os.Environ(), env...)
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("start envoy: %w", err)
	}
	go func() { defer close(e.done); _ = e.cmd.Wait() }()
	return nil
}

// Binary finds an installed Envoy.
func Binary(t testing.TB, version string) string {
	t.Helper()
	pattern := filepath.Join(Root(t), ".venv-envoy-"+version, "lib", "python3*", "site-packages", "envoy", "_bin", "envoy")
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, found, "envoy %s is not installed: run make envoys", version)
	return found[0]
}

// Root is the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, dir, parent, "no go.mod above the test")
		dir = parent
	}
}

// FreePort finds a loopback port that nobody listens on. Envoy cannot report the
// port it was given through its listener's file, so the test gives it one. It lies
// below the ports that systems give to clients, so that no connection of another
// test takes it before Envoy does.
func FreePort(t testing.TB) string {
	t.Helper()
	const first, last = 10_000, 32_000
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first)))
		if l, err := net.Listen("tcp", addr); err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
	require.FailNow(t, "no port below the clients' is free")
	return ""
}

// Addr is the address clients send to.
func (e *Envoy) Addr() string { return e.addr }

// URL is the base URL of the listener.
func (e *Envoy) URL() string { return "http://" + e.addr }

// Process is the id of the process.
func (e *Envoy) Process() int { return e.cmd.Process.Pid }

// Log is what the Envoy has written so far, for its test.
func (e *Envoy) Log() string { return e.log.String()[e.from:] }

// Exited reports whether the process has ended.
func (e *Envoy) Exited() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Kill ends the process at once and waits for it.
func (e *Envoy) Kill() {
	_ = e.cmd.Process.Kill()
	<-e.done
}

func (e *Envoy) live() bool {
	body, err := e.get("/ready")
	return err == nil && strings.HasPrefix(body, "LIVE")
}

// Stats reads the numbers of all stats whose name holds the text.
func (e *Envoy) Stats(filter string) (map[string]float64, error) {
	body, err := e.get("/stats?format=json&usedonly&filter=" + filter)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Stats []struct {
			Name  string
			Value json.Number
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, s := range doc.Stats {
		if n, err := s.Value.Float64(); err == nil {
			values[s.Name] = n
		}
	}
	return values, nil
}

func (e *Envoy) get(path string) (string, error) { return e.ask(http.MethodGet, path) }

// ask calls the administration page.
func (e *Envoy) ask(method, path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+e.admin+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("admin answers %d", resp.StatusCode)
	}
	return string(body), err
}

// logBuffer collects output of a process that tests read meanwhile.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
