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
	switch m.Tokens {
	case "", TokensEstimate:
	case "exact", "ambiguous":
		v.add(at+".tokens", strconv.Quote(m.Tokens)+" needs a tokenizer in the state service, which this version does not have", `use "estimate"`)
	default:
		v.add(at+".tokens", strconv.Quote(m.Tokens)+" is not a choice", `use "estimate"`)
	}
	if len(m.Buckets) == 0 {
		v.add(at+".buckets", "no bucket", "list at least one")
	}
	for i := range m.Buckets {
		b := &m.Buckets[i]
		path := index(at+".buckets", i)
		if slices.ContainsFunc(m.Buckets[:i], func(o Bucket) bool { return o.ID == b.ID && b.ID != "" }) {
			v.add(path+".id", strconv.Quote(b.ID)+" stands twice", "give each bucket its own id")
		}
		v.bucket(path, name, b)
	}
}

func (v *validator) bucket(at, model string, b *Bucket) {
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
	if b.MaxContextTokens != nil && *b.MaxContextTokens == 0 {
		v.add(at+".max_context_tokens", "0 fits no request", "leave it out for no bound")
	}
	v.groups(at+".groups", model, b.Groups)
}

func (v *validator) groups(at, model string, g Groups) {
	switch {
	case g.Plain != nil && g.PD != nil:
		v.add(at, "has both plain and pd", "a bucket is one or the other: make two buckets")
	case g.Plain == nil && g.PD == nil:
		v.add(at, "has neither plain nor pd", `write "plain": {"policy": ...}`)
	}
	if g.Plain != nil {
		v.group(at+".plain", model, core.StagePlain, g.Plain)
	}
	if g.PD == nil {
		return
	}
	v.add(at+".pd", "prefill/decode dispatch is not in this version", `use "plain" groups`)
	v.side(at+".pd.prefill", model, core.StagePrefill, g.PD.Prefill)
	v.side(at+".pd.decode", model, core.StageDecode, g.PD.Decode)
}

func (v *validator) side(at, model string, stage core.Stage, g *Group) {
	if g == nil {
		v.add(at, "is required", "a pd bucket needs both prefill and decode")
		return
	}
	v.group(at, model, stage, g)
}

func (v *validator) group(at, model string, stage core.Stage, g *Group) {
	if g.WorkerIDs != nil {
		v.members(at+".worker_ids", model, stage, *g.WorkerIDs)
	}
	if g.Policy == nil {
		v.add(at+".policy", "is required", `write "policy": {"type": "power_of_two"}`)
		return
	}
	v.policy(at+".policy", g.Policy)
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
		if len(v.cfg.Workers) == 0 {
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

func (v *validator) policy(at string, p *Policy) {
	switch p.Type {
	case PolicyPowerOfTwo:
		v.between(at+".choices", p.Choices, 1, 1<<16)
	case PolicyRoundRobin, PolicyRandom:
		if p.Choices != nil {
			v.add(at+".choices", "has no effect on "+p.Type, "leave it out or use power_of_two")
		}
	case "":
		v.add(at+".type", "is required", "use round_robin, random or power_of_two")
	default:
		reason, fix := refusedPolicy(p.Type)
		v.add(at+".type", reason, fix)
	}
	if p.Admission == nil {
		return
	}
	for _, problem := range p.Admission.Validate(at + ".admission") {
		path, reason, _ := strings.Cut(problem.Error(), ": ")
		v.add(path, reason, "")
	}
}

// refusedPolicy explains why a policy name cannot be honoured: the dropped ones
// of POLICY_DESIGN section 7 with their replacement, and names nobody knows.
func refusedPolicy(name string) (reason, fix string) {
	quoted := strconv.Quote(name)
	switch name {
	case "fused_score", "score_policy":
		return quoted + " is dropped: policies do not add up scores", "use power_of_two"
	case "legacy_host_affinity":
		return quoted + " is dropped", "use power_of_two on decode groups"
	case "load_based", "session_aware", "sticky", "cache_aware", "consistent_hash":
		return quoted + " is not in this version", "use round_robin, random or power_of_two"
	case "power_of_n":
		return quoted + " is spelled power_of_two here", `use "type": "power_of_two" with "choices"`
	}
	return quoted + " is not a policy", "use round_robin, random or power_of_two"
}
