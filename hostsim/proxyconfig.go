package hostsim

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"
)

// DefaultProxyBodyLimit lets a body of 32 MiB through with room for what a filter adds (envoy.md 0a).
const DefaultProxyBodyLimit = 32<<20 + 64<<10

// ProxyConfig describes a Proxy. Module, Wasm or WasmPath, Upstream and the cluster of that name are required.
type ProxyConfig struct {
	// Module is a loaded filter, which the caller closes after the proxy. Else Wasm are its bytes, else WasmPath is
	// its file.
	Module   *Module
	Wasm     []byte
	WasmPath string
	// Profile and Cache are used when the proxy loads the module.
	Profile Profile
	Cache   *Cache

	// PluginName, VMID, FilterConfig, VMConfig, Env, OnFailure, Trace and Host are as in VMOptions.
	PluginName, VMID       string
	FilterConfig, VMConfig []byte
	Env                    map[string]string
	OnFailure              FailurePolicy
	Trace                  *Trace
	Host                   *Host
	// HeaderPause is allow_on_headers_stop_iteration.
	HeaderPause bool
	// BodyLimit in bytes, above which a held request is answered with 413; 0 means DefaultProxyBodyLimit.
	BodyLimit int

	// StreamIdleTimeout is as in VMOptions; 0 means DefaultStreamIdleTimeout, negative is none.
	StreamIdleTimeout time.Duration

	// VMs is the number of workers; 0 means one per usable CPU.
	VMs int
	// Upstream names the cluster that requests go to.
	Upstream string
	// Clusters are Upstream and those of the filter's callouts.
	Clusters []Cluster
	// Logger receives the filter's and the proxy's logs; nil drops them.
	Logger *slog.Logger
	// Clock drives the filters; nil is the SystemClock.
	Clock Clock
	// Seed makes the filters' random numbers repeatable, per worker; 0 takes the machine's.
	Seed uint64
}

// validate returns all problems of a configuration, with their paths.
func (c *ProxyConfig) validate() error {
	var errs []error
	if c.Module == nil && len(c.Wasm) == 0 && c.WasmPath == "" {
		errs = append(errs, errors.New("wasm: give the filter's file"))
	}
	if c.VMs < 0 {
		errs = append(errs, fmt.Errorf("vms: %d is negative", c.VMs))
	}
	if c.BodyLimit < 0 {
		errs = append(errs, fmt.Errorf("body limit: %d is negative", c.BodyLimit))
	}
	var names []string
	for i, cl := range c.Clusters {
		for _, err := range cl.validate() {
			errs = append(errs, fmt.Errorf("clusters[%d]: %w", i, err))
		}
		if slices.Contains(names, cl.Name) {
			errs = append(errs, fmt.Errorf("clusters[%d].name: %q is taken", i, cl.Name))
		}
		names = append(names, cl.Name)
	}
	if !slices.Contains(names, c.Upstream) {
		errs = append(errs, fmt.Errorf("upstream: no cluster is named %q", c.Upstream))
	}
	return errors.Join(errs...)
}

func (c ProxyConfig) withDefaults() ProxyConfig {
	if c.VMs == 0 {
		c.VMs = runtime.GOMAXPROCS(0)
	}
	if c.BodyLimit == 0 {
		c.BodyLimit = DefaultProxyBodyLimit
	}
	if c.StreamIdleTimeout == 0 {
		c.StreamIdleTimeout = DefaultStreamIdleTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Host == nil {
		c.Host = NewHost()
	}
	return c
}

// moduleBytes returns the filter's bytes.
func (c *ProxyConfig) moduleBytes() ([]byte, error) {
	if len(c.Wasm) > 0 {
		return c.Wasm, nil
	}
	b, err := os.ReadFile(c.WasmPath)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return b, nil
}
