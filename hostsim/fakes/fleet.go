package fakes

import (
	"fmt"
	"strconv"
	"sync"
)

// Fleet is a set of running engines with distinct names.
type Fleet struct {
	engines []*Engine
	byName  map[string]*Engine
}

// Replicate returns n copies of base named engine-0, engine-1, ... with different seeds; edit them before StartFleet
// where engines shall differ.
func Replicate(base Config, n int) []Config {
	configs := make([]Config, n)
	for i := range configs {
		configs[i] = base
		configs[i].Name = "engine-" + strconv.Itoa(i)
		configs[i].Seed = base.Seed + uint64(i)
	}
	return configs
}

// StartFleet makes one engine per config and starts each on a loopback port of its own. A config without a name gets
// engine-<position>. On error nothing keeps running.
func StartFleet(configs ...Config) (*Fleet, error) {
	f := &Fleet{byName: map[string]*Engine{}}
	for i, cfg := range configs {
		if cfg.Name == "" {
			cfg.Name = "engine-" + strconv.Itoa(i)
		}
		if f.byName[cfg.Name] != nil {
			f.StopAll()
			return nil, fmt.Errorf("configs[%d].name: %q is taken by another engine", i, cfg.Name)
		}
		e, err := New(cfg)
		if err == nil {
			err = e.Start("")
		}
		if err != nil {
			f.StopAll()
			return nil, fmt.Errorf("configs[%d]: %w", i, err)
		}
		f.engines = append(f.engines, e)
		f.byName[cfg.Name] = e
	}
	return f, nil
}

// Engines returns all engines in order. The slice is the caller's.
func (f *Fleet) Engines() []*Engine { return append([]*Engine(nil), f.engines...) }

// Engine returns the engine of that name.
func (f *Fleet) Engine(name string) (engine *Engine, ok bool) {
	engine, ok = f.byName[name]
	return engine, ok
}

// Addrs returns the engines' ip:port in order.
func (f *Fleet) Addrs() []string {
	addrs := make([]string, len(f.engines))
	for i, e := range f.engines {
		addrs[i] = e.Addr()
	}
	return addrs
}

// Received returns how many inference requests each engine has received, by name.
func (f *Fleet) Received() map[string]int64 {
	counts := make(map[string]int64, len(f.engines))
	for _, e := range f.engines {
		counts[e.Name()] = e.Counters().Received
	}
	return counts
}

// Reset resets the records and counters of every engine.
func (f *Fleet) Reset() {
	for _, e := range f.engines {
		e.Reset()
	}
}

// StopAll stops every engine at once, as Engine.Stop does.
func (f *Fleet) StopAll() {
	var wg sync.WaitGroup
	for _, e := range f.engines {
		wg.Go(e.Stop)
	}
	wg.Wait()
}
