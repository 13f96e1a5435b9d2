package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
)

func (v *validator) model(name string, m Model) {
	at := join("models", name)
	if strings.TrimSpace(name) == "" {
		v.add(at, "a model needs a name", "write the name clients ask for")
	}
	v.tokens(at+".tokens", &m)
	v.inputIDs(at+".input_ids", &m)
	v.dpRanks(at+".dp_ranks", &m)
	if len(m.Buckets) == 0 {
		v.add(at+".buckets", "no bucket", "list at least one")
	}
	if v.whole.fleet && v.cfg.State == nil && len(v.cfg.Workers) > 0 && !v.served(name) {
		v.add(at, "no worker serves this model, and there is no state service to name one", "add it to the models of a worker")
	}
	v.slo(at, &m)
	v.sampling(at, m.Sampling)
	for i := range m.Buckets {
		b := &m.Buckets[i]
		path := index(at+".buckets", i)
		if slices.ContainsFunc(m.Buckets[:i], func(o Bucket) bool { return o.ID == b.ID && b.ID != "" }) {
			v.add(path+".id", strconv.Quote(b.ID)+" stands twice", "give each bucket its own id")
		}
		v.bucket(path, name, &m, b)
	}
	v.defaultPolicies(at, &m)
}

// bounded reports whether the length of a prompt matters to any bucket.
func (m *Model) bounded() bool {
	return slices.ContainsFunc(m.Buckets, func(b Bucket) bool {
		return b.MaxContextTokens != nil || b.Limits != nil && (b.Limits.Min != nil || b.Limits.Max != nil)
	})
}

// served reports whether a static worker serves the model.
func (v *validator) served(model string) bool {
	return slices.ContainsFunc(v.cfg.Workers, func(w Worker) bool { return slices.Contains(w.Models, model) })
}

func (v *validator) bucket(at, name string, m *Model, b *Bucket) {
	if strings.TrimSpace(b.ID) == "" {
		v.add(at+".id", "is required", "name the bucket")
	}
	if l := b.Limits; l != nil && l.Min != nil {
		if l.Max != nil && *l.Min > *l.Max {
			v.add(at+".limits", fmt.Sprintf("min %d is above max %d", *l.Min, *l.Max), "swap or widen them")
		}
		if b.MaxContextTokens != nil && *l.Min > *b.MaxContextTokens {
			v.add(at+".limits.min", fmt.Sprintf("%d is above max_context_tokens %d: no request fits", *l.Min, *b.MaxContextTokens), "lower it or raise max_context_tokens")
		}
	}
	if b.Limits != nil && b.Limits.Max != nil && *b.Limits.Max == 0 {
		v.add(at+".limits.max", "0 fits no request", "leave it out for no bound")
	}
	if b.MaxContextTokens != nil && *b.MaxContextTokens == 0 {
		v.add(at+".max_context_tokens", "0 fits no request", "leave it out for no bound")
	}
	v.groups(at+".groups", name, m, b.Groups)
}

func (v *validator) groups(at, name string, m *Model, g Groups) {
	switch {
	case g.Plain != nil && g.PD != nil:
		v.add(at, "has both plain and pd", "a bucket is one or the other: make two buckets")
	case g.Plain == nil && g.PD == nil:
		v.add(at, "has neither plain nor pd", `write "plain": {"policy": ...}`)
	}
	if g.Plain != nil {
		v.group(at+".plain", name, m, core.StagePlain, g.Plain)
	}
	if g.PD == nil {
		return
	}
	v.add(at+".pd", "prefill/decode dispatch is not in this version", `use "plain" groups`)
	v.side(at+".pd.prefill", name, m, core.StagePrefill, g.PD.Prefill)
	v.side(at+".pd.decode", name, m, core.StageDecode, g.PD.Decode)
}

func (v *validator) side(at, name string, m *Model, stage core.Stage, g *Group) {
	if g == nil {
		v.add(at, "is required", "a pd bucket needs both prefill and decode")
		return
	}
	v.group(at, name, m, stage, g)
}

func (v *validator) group(at, name string, m *Model, stage core.Stage, g *Group) {
	if g.WorkerIDs != nil {
		v.members(at+".worker_ids", name, stage, *g.WorkerIDs)
	}
	if g.WorkerServices != nil {
		v.memberServices(at+".worker_services", *g.WorkerServices)
	}
	switch {
	case g.Policy != nil:
		v.policy(at+".policy", stage, g.Policy)
	case m.policyOf(stage, g) == nil:
		v.add(at+".policy", "is required", `write "policy": {"type": "power_of_two"}, here or for all groups in the model`)
	}
}

// members checks IDs against the static fleet. Without one, members are known
// only once the state service has named them.
func (v *validator) members(at, model string, stage core.Stage, ids []string) {
	for i, id := range ids {
		path := index(at, i)
		if slices.Contains(ids[:i], id) {
			v.add(path, strconv.Quote(id)+" stands twice", "keep one")
		}
		if strings.TrimSpace(id) == "" {
			v.add(path, "is empty", "leave it out")
			continue
		}
		if !v.whole.fleet || len(v.cfg.Workers) == 0 {
			continue
		}
		w := v.workers[id]
		if w == nil {
			v.add(path, fmt.Sprintf("%q is not among workers", id), "add the worker or correct the id")
			continue
		}
		if role, ok := core.ParseStage(w.Role); ok && role != stage {
			v.add(path, fmt.Sprintf("worker %q is %s, the group is %s", id, role, stage), "name workers of the group's role")
		}
		if len(w.Models) > 0 && !slices.Contains(w.Models, model) {
			v.add(path, fmt.Sprintf("worker %q does not serve model %q", id, model), "name workers that serve it")
		}
	}
}

// memberServices checks services, against the static fleet where there is one.
func (v *validator) memberServices(at string, services []string) {
	for i, s := range services {
		path := index(at, i)
		v.services[s] = true
		switch {
		case !core.ServiceName(s):
			v.add(path, strconv.Quote(s)+" is not a Kubernetes Service", "write namespace/name")
		case slices.Contains(services[:i], s):
			v.add(path, strconv.Quote(s)+" stands twice", "keep one")
		case v.whole.fleet && len(v.cfg.Workers) > 0 && !v.behind(s):
			v.add(path, fmt.Sprintf("no worker is behind %q", s), "add it to the services of a worker or correct it")
		}
	}
}

// behind reports whether a static worker is behind a service.
func (v *validator) behind(service string) bool {
	return slices.ContainsFunc(v.cfg.Workers, func(w Worker) bool { return slices.Contains(w.Services, service) })
}
