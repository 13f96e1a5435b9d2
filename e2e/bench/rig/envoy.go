package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/envoytest"
)

// EnvoyOptions say how an Envoy is run.
type EnvoyOptions struct {
	Name        string
	Policy      string // of the filter; empty is an Envoy without the filter
	Source      string // of cache_aware
	Settings    string // further members of the policy, as JSON: "name": value, ...
	CallStream  bool   // calls go to the state service on a stream
	Concurrency int    // worker threads; 0 is 1
	Filter      string // module; empty is Parts.Filter
	// KeepCluster leaves the engines' cluster of an Envoy without the filter as
	// it is with the filter: choice by header, header removed upstream.
	KeepCluster bool
}

// StartEnvoy runs the shipped override_host bootstrap, with a state service of
// its own, or the same bootstrap without all that belongs to the filter.
func (r *Rig) StartEnvoy(engines *Engines, o EnvoyOptions) (*Target, error) {
	listen, err := freePort()
	if err != nil {
		return nil, err
	}
	admin, err := freePort()
	if err != nil {
		return nil, err
	}
	t := &Target{Name: o.Name, Addr: listen, ready: serves}
	config, err := r.bootstrap(engines, o, t, admin)
	if err != nil {
		return nil, err
	}
	path, err := r.file("envoy.json", config)
	if err != nil {
		return nil, err
	}
	return r.start(t, r.parts.Envoy, []string{
		"-c", path, "--concurrency", strconv.Itoa(max(o.Concurrency, 1)), "--disable-hot-restart", "--log-level", "error",
	}, nil)
}

func (r *Rig) bootstrap(engines *Engines, o EnvoyOptions, t *Target, admin string) ([]byte, error) {
	options := envoytest.Options{Bootstrap: envoytest.OverrideHost, Module: r.parts.Filter, State: admin, Engines: engines.Addrs}
	if o.Filter != "" {
		options.Module = o.Filter
	}
	if o.Policy == "" {
		config, err := envoytest.Render(options, t.Addr, admin)
		if err != nil {
			return nil, err
		}
		return withoutFilter(config, o.KeepCluster)
	}
	var err error
	if options.State, t.State, err = r.startState(engines, o.Source == "local"); err != nil {
		return nil, err
	}
	t.state = options.State
	options.Filter = filterConfig(o)
	return envoytest.Render(options, t.Addr, admin)
}

func filterConfig(o EnvoyOptions) []byte {
	policy := fmt.Sprintf(`"type":%q`, o.Policy)
	if o.Source != "" {
		policy += fmt.Sprintf(`,"source":%q`, o.Source)
	}
	if o.Settings != "" {
		policy += "," + o.Settings
	}
	return fmt.Appendf(nil, `{"version":1,"proxy":"bench","endpoint_mode":"override_host","state":{"cluster":"pointsman_state","call_stream":%t},`+
		`"models":{%q:{"buckets":[{"id":"all","groups":{"plain":{"policy":{%s}}}}]}}}`, o.CallStream, engine.Model, policy)
}

// serves sends one chat.
func serves(t *Target) error {
	c, err := load.Dial(t.Addr, 1)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Closed(load.Chat(engine.Model, 1<<10, false), 1)
	return err
}

type document = map[string]any

var errShape = errors.New("the bootstrap has another shape than this program knows")

// withoutFilter takes everything out of a bootstrap that is there for the
// filter: the filter, its state cluster, the choice by header (the fallback
// policy is used directly) and the removal of the header, the last two unless
// keepCluster is set.
func withoutFilter(config []byte, keepCluster bool) (out []byte, err error) {
	var doc document
	if err := json.Unmarshal(config, &doc); err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil { // a type assertion below
			out, err = nil, errShape
		}
	}()
	resources := doc["static_resources"].(document)
	plainListener(resources["listeners"].([]any)[0].(document))
	var clusters []any
	for _, c := range resources["clusters"].([]any) {
		cluster := c.(document)
		if cluster["name"] == "pointsman_state" {
			continue
		}
		if !keepCluster {
			plainCluster(cluster)
		}
		clusters = append(clusters, cluster)
	}
	resources["clusters"] = clusters
	return json.Marshal(doc)
}

func plainListener(l document) {
	chain := l["filter_chains"].([]any)[0].(document)
	hcm := chain["filters"].([]any)[0].(document)["typed_config"].(document)
	var kept []any
	for _, f := range hcm["http_filters"].([]any) {
		if f.(document)["name"] != "pointsman" {
			kept = append(kept, f)
		}
	}
	hcm["http_filters"] = kept
}

func plainCluster(c document) {
	delete(c, "load_balancing_policy")
	c["lb_policy"] = "LEAST_REQUEST"
	for _, o := range c["typed_extension_protocol_options"].(document) {
		delete(o.(document), "http_filters")
	}
}
