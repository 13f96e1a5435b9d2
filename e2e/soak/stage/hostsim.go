package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/hostsim"
)

// Simulated says how ServeHostsim runs the filter. It is the command line of the
// process.
type Simulated struct {
	Filter    string   `required:""`
	Log       string   `required:""`
	State     string   `required:""`
	Engines   []string `required:""`
	Threads   int      `default:"1"`
	NoBreaker bool
	Calls     string `default:"none"`
	Profile   string `enum:"envoy133,envoy139" default:"envoy139"`
}

// simulated is a process that runs ServeHostsim.
type simulated struct {
	hello simulatedHello
	log   string
	*proc.Process
}

type simulatedHello struct{ Addr, Admin string }

func (s *Stage) startHostsim() (Host, error) {
	h := &simulated{log: filepath.Join(s.dir, "hostsim.log")}
	profile := hostsim.Envoy139
	if olderThan139(s.options.Version) {
		profile = hostsim.Envoy133
	}
	var err error
	h.Process, err = s.spawnHello("hostsim", &h.hello, "hostsim", "--no-breaker="+strconv.FormatBool(s.options.NoBreaker), "--filter", s.options.Filter, "--log", h.log,
		"--state", s.State.addr, "--engines", strings.Join(s.Engines.Addrs, ","),
		"--threads", strconv.Itoa(s.options.Threads), "--calls", s.options.Calls, "--profile", profile.String())
	return h, err
}

// olderThan139 tells the releases whose WASI lacks functions (envoy.md 1.4).
func olderThan139(version string) bool {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && minor < 39
}

func (h *simulated) Addr() string { return h.hello.Addr }
func (h *simulated) Log() string  { return h.log }

// Read implements Host.
func (h *simulated) Read(ctx context.Context) (Reading, error) {
	var r Reading
	return r, getJSON(ctx, "http://"+h.hello.Admin, &r)
}

// ServeHostsim runs the filter in hostsim until the context ends. It says hello
// on out and tells its Reading on a port of its own.
func ServeHostsim(ctx context.Context, c Simulated, out io.Writer) error {
	logFile, err := os.Create(c.Log)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	proxy, err := hostsim.NewProxy(c.config(slog.New(slog.NewTextHandler(logFile, nil))))
	if err != nil {
		return err
	}
	defer stopProxy(proxy)
	if err := proxy.Start("127.0.0.1:0"); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	admin := &http.Server{Handler: readings(proxy), ReadHeaderTimeout: readWithin}
	defer func() { _ = admin.Close() }()
	go func() { _ = admin.Serve(l) }()
	hello := simulatedHello{Addr: proxy.Addr().String(), Admin: l.Addr().String()}
	if err := json.NewEncoder(out).Encode(hello); err != nil {
		return fmt.Errorf("hostsim: %w", err)
	}
	<-ctx.Done()
	return nil
}

func stopProxy(p *hostsim.Proxy) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.Stop(ctx)
}

func (c Simulated) config(log *slog.Logger) hostsim.ProxyConfig {
	profile := hostsim.Envoy139
	if c.Profile == hostsim.Envoy133.String() {
		profile = hostsim.Envoy133
	}
	engines := hostsim.Cluster{
		Name: "engines", Mode: hostsim.OverrideHost, Endpoints: c.Engines, EndpointHeader: "x-pointsman-endpoint", Retries: 2,
		StripHeaders: []string{"x-pointsman-prefill", "x-pointsman-mode", "x-pointsman-model"},
	}
	return hostsim.ProxyConfig{
		WasmPath: c.Filter, Profile: profile, FilterConfig: []byte(filterConfig(c.NoBreaker, c.Calls)), PluginName: "pointsman", VMID: "pointsman",
		OnFailure: hostsim.FailReload, HeaderPause: true, BodyLimit: 33 << 20, VMs: c.Threads, Upstream: "engines",
		Clusters: []hostsim.Cluster{engines, {Name: "pointsman_state", Endpoints: []string{c.State}, HTTP2: c.Calls == CallsStream}}, Logger: log,
	}
}

// readings tells what the proxy uses.
func readings(p *hostsim.Proxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		goroutines := int64(runtime.NumGoroutine())
		r := Reading{Goroutines: &goroutines, Counters: map[string]int64{}}
		for _, worker := range p.Workers() {
			worker.Call(func() {
				r.Wasm += int64(worker.VM().MemoryBytes())
				r.Reloads += int64(worker.Reloads())
			})
		}
		for _, m := range p.Metrics() {
			r.Counters[strings.TrimPrefix(m.Name, hostsim.MetricPrefix)] = m.Value
		}
		_ = json.NewEncoder(w).Encode(r)
	})
}
