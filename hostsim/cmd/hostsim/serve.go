package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// Headers that engines never see (design section 8).
const (
	endpointHeader = "x-pointsman-endpoint"
	enginesCluster = "engines"
	stopWithin     = 10 * time.Second
)

type serveCmd struct {
	Config        string   `help:"Filter configuration (JSON)." placeholder:"FILE"`
	Filter        string   `help:"The filter module (default ${default})." default:"dist/filter.wasm" placeholder:"FILE"`
	Listen        string   `help:"Where to listen (default ${default})." default:"127.0.0.1:8080" placeholder:"ADDR"`
	AdminListen   string   `help:"Where to show the filter's metrics, as Prometheus text at /metrics; default: nowhere." placeholder:"ADDR"`
	State         string   `help:"The state service." placeholder:"URL"`
	Engine        []string `help:"With endpoint_mode override_host: the engines that requests may go to, and in turn those on paths that the filter does not route; default: the configuration's workers. Where there are none, requests go to whatever engines the filter names, and other paths get 503." placeholder:"ADDR"`
	VMs           int      `name:"vms" help:"Number of VMs, as an Envoy has workers; 0 means one per CPU." default:"0"`
	NoHeaderPause bool     `help:"Behave like an Envoy without allow_on_headers_stop_iteration."`
	Demo          int      `help:"Start this many fake engines, model demo, and a state service." placeholder:"N"`
	StateListen   string   `help:"Where the demo's state service listens (default ${default})." default:"127.0.0.1:9090" placeholder:"ADDR"`
	EnginePort    int      `help:"First port of the demo's engines; 0 takes any (default ${default})." default:"9101" placeholder:"PORT"`
	Quiet         bool     `help:"Do not log."`
}

// Help gives examples.
func (serveCmd) Help() string {
	return `Examples:
  hostsim serve --demo 4
  hostsim serve --demo 4 --listen 127.0.0.1:8081 --engine-port 0 --state-listen 127.0.0.1:0
  hostsim serve --demo 4 --config configs/filter/cache-aware.json --admin-listen 127.0.0.1:9901
  hostsim serve --config filter.json --state http://127.0.0.1:9090 --listen 0.0.0.0:8080`
}

// Validate implements kong's check of a command line.
func (c *serveCmd) Validate() error {
	if c.Demo < 0 || c.Demo > 64 {
		return fmt.Errorf("--demo %d: use 1 to 64 engines", c.Demo)
	}
	if c.Demo == 0 && c.Config == "" {
		return errors.New("give --config FILE, or --demo N for a fleet of fake engines")
	}
	if c.Demo > 0 && (c.State != "" || len(c.Engine) > 0) {
		return errors.New("--demo brings its own engines and state service: leave out --state and --engine")
	}
	return nil
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, con console) error {
	logger := slog.New(slog.DiscardHandler)
	if !c.Quiet {
		logger = slog.New(slog.NewTextHandler(con.err, nil))
	}
	document, cfg, err := c.configuration()
	if err != nil {
		return err
	}
	module, err := readModule(c.Filter)
	if err != nil {
		return err
	}
	fmt.Fprintf(con.err, "loading %s; the first time takes some seconds\n", c.Filter)
	fleet := &demo{}
	if c.Demo > 0 {
		if fleet, err = startDemo(ctx, c, logger); err != nil {
			return err
		}
		defer fleet.stop()
		c.State, c.Engine = fleet.stateURL(), fleet.addrs()
	}
	config := c.proxyConfig(document, cfg, logger)
	config.Wasm = module
	proxy, err := hostsim.NewProxy(config)
	if err != nil {
		return err
	}
	if err := proxy.Start(c.Listen); err != nil {
		return errors.Join(fmt.Errorf("%w; choose another with --listen", err), stopProxy(proxy))
	}
	counters, err := startAdmin(ctx, c.AdminListen, proxy.Metrics)
	if err != nil {
		return errors.Join(err, stopProxy(proxy))
	}
	if err := ready(ctx, proxy, fleet); err != nil {
		return errors.Join(err, counters.stop(), stopProxy(proxy))
	}
	c.greet(con, proxy.Addr().String(), counters.addr, fleet)
	<-ctx.Done()
	return errors.Join(counters.stop(), stopProxy(proxy))
}

// configuration reads and checks the filter configuration, so that its mistakes
// are listed here and not in a log of the filter.
func (c *serveCmd) configuration() ([]byte, *spec.Config, error) {
	document, err := c.document()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := spec.Decode(document)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.source(), err)
	}
	cfg = spec.Defaults(cfg)
	if cfg.State != nil && c.State == "" && c.Demo == 0 {
		return nil, nil, usageError{fmt.Errorf("%s names a state service: give --state URL", c.source())}
	}
	return document, cfg, nil
}

func (c *serveCmd) document() ([]byte, error) {
	if c.Config == "" {
		return demoFilter()
	}
	return os.ReadFile(c.Config)
}

func (c *serveCmd) source() string {
	if c.Config == "" {
		return "demo configuration"
	}
	return c.Config
}

// proxyConfig is the proxy's configuration without the module.
func (c *serveCmd) proxyConfig(document []byte, cfg *spec.Config, logger *slog.Logger) hostsim.ProxyConfig {
	config := hostsim.ProxyConfig{
		Profile: hostsim.Envoy139, FilterConfig: document,
		PluginName: "pointsman", VMID: "pointsman", OnFailure: hostsim.FailReload,
		HeaderPause: !c.NoHeaderPause, BodyLimit: int(*cfg.MaxBodyBytes) + 1<<20,
		VMs: c.VMs, Upstream: enginesCluster, Clusters: []hostsim.Cluster{c.engines(cfg)}, Logger: logger,
		Env: environment(cfg),
	}
	if cfg.State != nil {
		config.Clusters = append(config.Clusters, hostsim.Cluster{
			Name: cfg.State.Cluster, Endpoints: []string{c.State}, HTTP2: cfg.State.CallStream,
		})
	}
	return config
}

// readModule reads the filter and checks its form, so that a wrong file is one
// line and not a compiler's report.
func readModule(path string) ([]byte, error) {
	module, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if _, err := wasmfile.Parse(module); err != nil {
		return nil, fmt.Errorf("filter %s: %w", path, err)
	}
	return module, nil
}

// engines makes the cluster that requests go to. Where neither --engine nor the
// configuration lists engines, those that the filter names are taken as they are:
// the state service knows them, and nobody else does.
func (c *serveCmd) engines(cfg *spec.Config) hostsim.Cluster {
	members := c.Engine
	for i := range cfg.Workers {
		if len(c.Engine) == 0 {
			members = append(members, cfg.Workers[i].Address)
		}
	}
	cluster := hostsim.Cluster{
		Name: enginesCluster, Mode: hostsim.OriginalDst, EndpointHeader: spec.Defaults(cfg).EndpointHeader,
		StripHeaders: []string{"x-pointsman-prefill", "x-pointsman-mode", "x-pointsman-model"},
	}
	if cfg.EndpointMode == spec.EndpointOverrideHost {
		cluster.Mode, cluster.Endpoints, cluster.AnyEndpoint = hostsim.OverrideHost, members, len(members) == 0
		if cfg.TransportRetry {
			cluster.Retries = 2
		}
	}
	return cluster
}

// environment passes the token's variable into the VM, as Envoy's
// vm_config.environment_variables does.
func environment(cfg *spec.Config) map[string]string {
	if cfg.State == nil || cfg.State.TokenEnv == "" {
		return nil
	}
	value, ok := os.LookupEnv(cfg.State.TokenEnv)
	if !ok {
		return nil
	}
	return map[string]string{cfg.State.TokenEnv: value}
}

// ready waits until the demo's models are routed, so that the printed commands
// work at once.
func ready(ctx context.Context, proxy *hostsim.Proxy, fleet *demo) error {
	if fleet.engines == nil {
		return nil
	}
	url := "http://" + proxy.Addr().String() + "/v1/models"
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if body, err := fetch(ctx, url); err == nil && strings.Contains(body, `"demo"`) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the demo's engines did not become healthy within 30 s")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func stopProxy(proxy *hostsim.Proxy) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return proxy.Stop(ctx)
}

func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// joined lists errors with their count first, nil when there are none.
func joined(problems []error) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	return fmt.Errorf("%d problems\n%w", len(problems), errors.Join(problems...))
}
