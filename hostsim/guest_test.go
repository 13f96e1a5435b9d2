package hostsim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/hostsim"
)

// guests builds and loads test filters once per test binary.
var guests struct {
	dir     string
	cache   *hostsim.Cache
	mu      sync.Mutex
	modules map[string]*hostsim.Module
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hostsim-guests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	guests.dir, guests.modules = dir, map[string]*hostsim.Module{}
	cacheDir, err := hostsim.DefaultCacheDir()
	if err == nil {
		guests.cache, err = hostsim.OpenCache(cacheDir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	ctx := context.Background()
	for _, module := range guests.modules {
		_ = module.Close(ctx)
	}
	_ = guests.cache.Close(ctx)
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// guestBytes builds testdata/guests/<name> and returns the module.
func guestBytes(t testing.TB, name string) []byte {
	t.Helper()
	out := filepath.Join(guests.dir, name+".wasm")
	if b, err := os.ReadFile(out); err == nil {
		return b
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out,
		"./testdata/guests/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// guest returns the loaded module of a test filter for one profile.
func guest(t testing.TB, name string, profile hostsim.Profile) *hostsim.Module {
	t.Helper()
	guests.mu.Lock()
	defer guests.mu.Unlock()
	key := name + "/" + profile.String()
	if m := guests.modules[key]; m != nil {
		return m
	}
	m, err := hostsim.Load(t.Context(), guestBytes(t, name), hostsim.ModuleOptions{Profile: profile, Cache: guests.cache})
	require.NoError(t, err)
	guests.modules[key] = m
	return m
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bench is a VM with everything around it in memory.
type bench struct {
	t        testing.TB
	vm       *hostsim.VM
	clock    *hostsim.ManualClock
	trace    *hostsim.Trace
	callouts *hostsim.HeldCallouts
	grpc     *hostsim.HeldGRPC
	logs     []string
}

// newBench starts the steered guest. edit may change the options.
func newBench(t testing.TB, edit func(o *hostsim.VMOptions)) *bench {
	t.Helper()
	b := &bench{t: t, clock: hostsim.NewManualClock(epoch), trace: &hostsim.Trace{}}
	b.callouts, b.grpc = &hostsim.HeldCallouts{}, &hostsim.HeldGRPC{}
	opts := hostsim.VMOptions{
		PluginName: "steered", VMID: "test", AllowOnHeadersStopIteration: true,
		Clock: b.clock, Trace: b.trace, Callouts: b.callouts, GRPC: b.grpc,
		Log: func(_ hostsim.LogLevel, m string) { b.logs = append(b.logs, m); t.Log(m) },
	}
	if edit != nil {
		edit(&opts)
	}
	vm, err := guest(t, "steered", hostsim.Envoy139).NewVM(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, vm.Close()) })
	b.vm = vm
	return b
}

// request makes the headers of a POST that steers the guest.
func request(steps string, more ...[2]string) *hostsim.Headers {
	h := hostsim.NewHeaders([2]string{":method", "POST"}, [2]string{":path", "/v1/chat?x=1"},
		[2]string{":authority", "models"}, [2]string{"x-do", steps})
	for _, p := range more {
		h.Add(p[0], p[1])
	}
	return h
}

func (b *bench) stream() (*hostsim.Stream, *hostsim.Recorder) {
	rec := &hostsim.Recorder{}
	return b.vm.NewStream(rec, hostsim.StreamOptions{Source: "10.0.0.1:4444", ClusterName: "engines"}), rec
}

// start begins a stream with headers only.
func (b *bench) start(steps string, end bool, more ...[2]string) (*hostsim.Stream, *hostsim.Recorder) {
	s, rec := b.stream()
	s.RequestHeaders(request(steps, more...), end)
	return s, rec
}

func ok200() *hostsim.Headers { return hostsim.NewHeaders([2]string{":status", "200"}) }

// takeLogs returns what the guest logged since the last call.
func (b *bench) takeLogs() []string {
	logs := b.logs
	b.logs = nil
	return logs
}
