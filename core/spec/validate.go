package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
)

// readable says what of a document could be decoded whole.
type readable struct {
	fleet  bool // state and workers
	models bool
}

// validate lists everything about cfg that cannot be honoured, as Problems, nil
// when there is nothing. It leaves out what follows from parts that could not be
// read, and does not change cfg.
func validate(cfg *Config, whole readable, sources []string) Problems {
	v := validator{
		cfg: cfg, whole: whole, sources: sources, workers: map[string]*Worker{},
		keys: map[policy.KeySource]bool{}, bound: map[policy.KeySource]bool{}, services: map[string]bool{},
	}
	v.root()
	v.staticWorkers()
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		v.model(name, cfg.Models[name])
	}
	v.names()
	v.keyHeaders()
	v.workerServices()
	return v.problems
}

type validator struct {
	cfg      *Config
	problems Problems
	workers  map[string]*Worker // static ones, by ID
	whole    readable
	sources  []string                  // prefix sources that are fed; nil is all
	keys     map[policy.KeySource]bool // those that policies use
	bound    map[policy.KeySource]bool // those that policies bind
	services map[string]bool           // those that groups name
}

func (v *validator) add(path, reason, fix string) { v.problems.add(path, reason, fix) }

func (v *validator) root() {
	c := v.cfg
	if c.Version != Version {
		v.add("version", fmt.Sprintf("is %d, this filter reads %d", c.Version, Version), `write "version": 1`)
	}
	v.oneOf("on_no_state", c.OnNoState, OnNoStateReject, OnNoStateHost)
	v.oneOf("endpoint_mode", c.EndpointMode, EndpointOverrideHost, EndpointOriginalDst)
	v.oneOf("receipts", c.Receipts, ReceiptsOff, ReceiptsLog)
	if c.OnNoState == OnNoStateHost && c.EndpointMode == EndpointOriginalDst {
		v.add("on_no_state", `"host" needs a host that can choose by itself`, `use "endpoint_mode": "override_host" or "on_no_state": "reject"`)
	}
	if c.OnNoState == OnNoStateHost && len(c.Workers) > 0 {
		v.add("on_no_state", `"host" has no effect: the workers are the fleet while no other is known`, `leave it out or leave "workers" out`)
	}
	if len(c.Proxy) > maxLabel {
		v.add("proxy", fmt.Sprintf("is %d bytes long", len(c.Proxy)), fmt.Sprintf("use %d at most", maxLabel))
	}
	if c.TransportRetry && c.EndpointMode == EndpointOriginalDst {
		v.add("transport_retry", "an original_dst host retries on the engine that failed", `use "endpoint_mode": "override_host" or leave it out`)
	}
	v.paths()
	v.generateModel()
	v.between("max_body_bytes", c.MaxBodyBytes, 1, MaxBody)
	v.between("body_timeout_ms", c.BodyTimeoutMillis, 1, maxDuration)
	if b := c.Breaker; b != nil {
		v.between("breaker.threshold", b.Threshold, 1, 1<<20)
		v.between("breaker.cool_down_ms", b.CoolDownMillis, 1, maxDuration)
	}
	v.state()
	v.abort()
	v.interop()
	if v.whole.fleet && c.State == nil && len(c.Workers) == 0 {
		v.add("state", "is not set and there are no workers: nothing to route to", `set "state" or "workers"`)
	}
	if len(c.Models) == 0 {
		v.add("models", "no model is routed", "name at least one model")
	}
}

func (v *validator) paths() {
	if v.cfg.Paths != nil && len(v.cfg.Paths) == 0 {
		v.add("paths", "an empty list routes nothing", "leave it out for the default paths")
	}
	for i, p := range v.cfg.Paths {
		at := index("paths", i)
		if chat.DialectOf(p) == chat.DialectNone {
			v.add(at, strconv.Quote(p)+" is not a path this filter can read", use(chat.Paths()...))
		}
		if slices.Contains(v.cfg.Paths[:i], p) {
			v.add(at, strconv.Quote(p)+" stands twice", "keep one")
		}
	}
}

func (v *validator) state() {
	s := v.cfg.State
	if s == nil {
		return
	}
	if s.Cluster == "" {
		v.add("state.cluster", "is required", "name the host's cluster for the state service")
	}
	v.between("state.sync_interval_ms", s.SyncIntervalMillis, 20, 10_000)
	v.between("state.timeout_ms", s.TimeoutMillis, 1, 60_000)
	v.between("state.observe_timeout_ms", s.ObserveTimeoutMillis, 1, 10_000)
	v.between("state.bind_timeout_ms", s.BindTimeoutMillis, 1, 10_000)
	v.between("state.pending_prefix_ms", s.PendingPrefixMillis, 0, 60_000)
	if strings.ContainsAny(s.Authority, " \t\r\n") {
		v.add("state.authority", "has white space in it", "write host or host:port")
	}
	if strings.ContainsAny(s.TokenEnv, " =\t\r\n") {
		v.add("state.token_env", "is not the name of an environment variable", "write the variable's name, not the token")
	}
}

func (v *validator) staticWorkers() {
	roles := map[string]core.Stage{} // first role seen per model
	addresses := map[string]string{}
	for i := range v.cfg.Workers {
		w := &v.cfg.Workers[i]
		at := index("workers", i)
		id := w.id()
		if !core.LiteralAddress(w.Address) {
			v.add(at+".address", strconv.Quote(w.Address)+" is not a literal ip:port", `write it like "10.0.0.7:8000"`)
		} else if other, taken := addresses[w.Address]; taken {
			v.add(at+".address", fmt.Sprintf("%s is the address of %s too", w.Address, other), "list each engine once")
		}
		addresses[w.Address] = at
		if v.workers[id] != nil {
			v.add(at+".id", strconv.Quote(id)+" stands twice", "give each worker its own id")
		}
		v.workers[id] = w
		v.workerModels(at+".models", w.Models)
		v.role(at, w, roles)
		if stage, _ := core.ParseStage(w.Role); w.VersionGroup != "" && stage == core.StagePlain {
			v.add(at+".version_group", "has no effect on a plain engine, which pairs with none", "leave it out")
		}
	}
}

func (v *validator) workerModels(at string, models []string) {
	if len(models) == 0 {
		v.add(at, "is required", "list the model names the engine serves")
	}
	for i, m := range models {
		switch {
		case strings.TrimSpace(m) == "":
			v.add(index(at, i), "is empty", "leave it out")
		case slices.Contains(models[:i], m):
			v.add(index(at, i), strconv.Quote(m)+" stands twice", "keep one")
		}
	}
}

// workerServices checks the services of static workers, once it is known which ones
// groups name.
func (v *validator) workerServices() {
	for i := range v.cfg.Workers {
		list := v.cfg.Workers[i].Services
		at := index("workers", i) + ".services"
		for n, s := range list {
			switch {
			case !core.ServiceName(s):
				v.add(index(at, n), strconv.Quote(s)+" is not a Kubernetes Service", "write namespace/name")
			case slices.Contains(list[:n], s):
				v.add(index(at, n), strconv.Quote(s)+" stands twice", "keep one")
			}
		}
		if v.whole.models && len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return v.services[s] }) {
			v.add(at, "has no effect: no group names one of them", `leave it out or use "worker_services" in a group`)
		}
	}
}

// role checks that one model is not served by both plain and prefill/decode
// engines (POLICY_DESIGN section 7).
func (v *validator) role(at string, w *Worker, roles map[string]core.Stage) {
	stage, ok := core.ParseStage(w.Role)
	if !ok {
		v.add(at+".role", strconv.Quote(w.Role)+" is not a role", "use plain, prefill or decode")
		return
	}
	for _, m := range w.Models {
		first, seen := roles[m]
		if seen && (first == core.StagePlain) != (stage == core.StagePlain) {
			v.add(at+".role", fmt.Sprintf("model %q would be served by plain and by prefill/decode engines", m), "use one kind per model")
		}
		if !seen {
			roles[m] = stage
		}
	}
}

// names checks that no two models answer to one name.
func (v *validator) names() {
	owner := map[string]string{}
	for name := range v.cfg.Models {
		owner[name] = name
	}
	for _, name := range slices.Sorted(maps.Keys(v.cfg.Models)) {
		for i, alias := range v.cfg.Models[name].Aliases {
			at := index(join("models", name)+".aliases", i)
			if other, taken := owner[alias]; taken {
				v.add(at, fmt.Sprintf("%q already names model %q", alias, other), "give the alias to one model")
			} else if alias == "" {
				v.add(at, "is empty", "leave it out")
			}
			owner[alias] = name
		}
	}
}

func (v *validator) oneOf(path, value string, choices ...string) {
	if value != "" && !slices.Contains(choices, value) {
		v.add(path, strconv.Quote(value)+" is not a choice", "use "+strings.Join(choices, " or "))
	}
}

func (v *validator) between(path string, value *uint64, low, high uint64) {
	if value != nil && (*value < low || *value > high) {
		v.add(path, strconv.FormatUint(*value, 10)+" is out of range", fmt.Sprintf("use %d to %d", low, high))
	}
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// id is the worker's ID: its address unless one is given.
func (w *Worker) id() string {
	if w.ID != "" {
		return w.ID
	}
	return w.Address
}
