package bench

import (
	"runtime"

	"github.com/pointsman/pointsman/e2e/bench/rig"
)

// router is one way to route by the engines' caches.
type router struct {
	name  string
	peer  bool // another project's
	named bool // goes by the session's header
	start func(*rig.Rig, *rig.Engines) (*rig.Target, error)
}

// threads is how many worker threads our Envoys have where whole routers are compared:
// those of others use every processor.
func threads() int { return runtime.NumCPU() }

// ours is an Envoy with the filter.
func ours(o rig.EnvoyOptions) router {
	if o.Name == "" {
		o.Name = "pointsman " + o.Policy
		if o.Source != "" {
			o.Name += ", " + o.Source
		}
	}
	o.Concurrency = threads()
	return router{name: o.Name, start: func(r *rig.Rig, fleet *rig.Engines) (*rig.Target, error) { return r.StartEnvoy(fleet, o) }}
}

func sglang(policy string) router {
	return router{name: "sglang-router " + policy, peer: true, start: func(r *rig.Rig, fleet *rig.Engines) (*rig.Target, error) {
		return r.StartSGLang(fleet, policy)
	}}
}

func vllm(policy string) router {
	return router{name: "vllm-router " + policy, peer: true, start: func(r *rig.Rig, fleet *rig.Engines) (*rig.Target, error) {
		return r.StartVLLM(fleet, policy)
	}}
}

func bySession(r router) router {
	r.named = true
	return r
}

// Settings of the shipped cache-aware-by-history.json and cache-aware.json in
// configs/filter, but for their caps.
const (
	cacheSettings = `"min_matched_tokens": 256`
	eventSettings = cacheSettings + `, "private_match": true`
)

func byHistory() router {
	return ours(rig.EnvoyOptions{Policy: cacheAware, Source: "history", Settings: cacheSettings})
}

// byEvents makes its calls on a stream, as the shipped file has it.
func byEvents() router {
	return ours(rig.EnvoyOptions{Policy: cacheAware, Source: "local", Settings: eventSettings, CallStream: true})
}

// byOwnersRules has what many prompts share bind them as well, which is the default.
func byOwnersRules() router {
	return ours(rig.EnvoyOptions{
		Name: "pointsman cache_aware, local, without private_match", Policy: cacheAware, Source: "local", CallStream: true, Settings: cacheSettings,
	})
}

const cacheAware = "cache_aware"

// startAll runs the routers of a list, peers only where they are asked for.
func (s *suite) startAll(r *rig.Rig, fleet *rig.Engines, list []router) (running []router, targets []*rig.Target, err error) {
	for _, each := range list {
		if each.peer && !s.Peers {
			continue
		}
		target, err := each.start(r, fleet)
		if err != nil {
			return nil, nil, err
		}
		running, targets = append(running, each), append(targets, target)
	}
	return running, targets, nil
}
