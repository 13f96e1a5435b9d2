package stage

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/e2e/envoytest"
)

// envoy is a real Envoy with the shipped override_host bootstrap.
type envoy struct {
	addr, admin, log string
	*proc.Process
}

func (s *Stage) startEnvoy() (Host, error) {
	binary, err := envoytest.FindBinary(s.options.Root, s.options.Version)
	if err != nil {
		return nil, err
	}
	e := &envoy{log: filepath.Join(s.dir, "envoy.log")}
	if e.addr, err = freePort(); err != nil {
		return nil, err
	}
	if e.admin, err = freePort(); err != nil {
		return nil, err
	}
	config, err := envoytest.Render(envoytest.Options{
		Bootstrap: envoytest.OverrideHost, Module: s.options.Filter, Filter: []byte(filterConfig(s.options.NoBreaker, s.options.Calls)),
		State: s.State.addr, Engines: s.Engines.Addrs,
	}, e.addr, e.admin)
	if err != nil {
		return nil, err
	}
	path, err := s.file("envoy.json", string(config))
	if err != nil {
		return nil, err
	}
	e.Process, err = s.spawn("envoy "+s.options.Version, binary, "-c", path, "--concurrency", strconv.Itoa(s.options.Threads),
		"--disable-hot-restart", "--log-level", "warning", "--component-log-level", "wasm:info", "--log-path", e.log)
	return e, err
}

func (e *envoy) Addr() string { return e.addr }
func (e *envoy) Log() string  { return e.log }

// Names in Envoy's stats (envoy.md 7).
const (
	customPrefix = "wasmcustom."
	reloadSuffix = "vm_reload_success"
)

// Read implements Host.
func (e *envoy) Read(ctx context.Context) (Reading, error) {
	r := Reading{Counters: map[string]int64{}}
	var doc struct {
		Stats []struct {
			Name  string
			Value json.Number
		}
	}
	if err := getJSON(ctx, "http://"+e.admin+"/stats?format=json&usedonly&filter=^wasm", &doc); err != nil {
		return r, err
	}
	for _, stat := range doc.Stats {
		n, err := stat.Value.Int64()
		if err != nil {
			continue // a histogram
		}
		name, custom := strings.CutPrefix(stat.Name, customPrefix)
		switch {
		case custom:
			r.Counters[name] = n
		case strings.HasSuffix(stat.Name, reloadSuffix):
			r.Reloads += n
		}
	}
	var err error
	if r.Heap, err = e.heap(ctx); err != nil {
		return r, err
	}
	r.Wasm, err = linearMemory(e.PID())
	return r, err
}

// heap asks the admin page, since the stat of that name is seconds old.
func (e *envoy) heap(ctx context.Context) (*int64, error) {
	var doc struct {
		Allocated int64 `json:",string"`
	}
	if err := getJSON(ctx, "http://"+e.admin+"/memory", &doc); err != nil {
		return nil, err
	}
	return &doc.Allocated, nil
}
