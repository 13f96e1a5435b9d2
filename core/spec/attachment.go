package spec

import (
	"github.com/pointsman/pointsman/core"
)

// policyOf gives the policy of a group: its own, whole; without one the default of
// its stage, else that of its model (POLICY_DESIGN section 7). Nil if there is none.
func (m *Model) policyOf(stage core.Stage, g *Group) *Policy {
	switch {
	case g.Policy != nil:
		return g.Policy
	case stage == core.StagePrefill && m.PrefillPolicy != nil:
		return m.PrefillPolicy
	case stage == core.StageDecode && m.DecodePolicy != nil:
		return m.DecodePolicy
	}
	return m.Policy
}

// eachPolicy visits the policy of each group that has one.
func (m *Model) eachPolicy(visit func(*Policy)) {
	note := func(stage core.Stage, g *Group) {
		if g == nil {
			return
		}
		if p := m.policyOf(stage, g); p != nil {
			visit(p)
		}
	}
	for i := range m.Buckets {
		groups := &m.Buckets[i].Groups
		note(core.StagePlain, groups.Plain)
		if groups.PD != nil {
			note(core.StagePrefill, groups.PD.Prefill)
			note(core.StageDecode, groups.PD.Decode)
		}
	}
}

// stagesOf lists the stages of the groups that take a default of the model.
func (m *Model) stagesOf(p *Policy) (stages []core.Stage) {
	note := func(stage core.Stage, g *Group) {
		if g != nil && m.policyOf(stage, g) == p {
			stages = append(stages, stage)
		}
	}
	for i := range m.Buckets {
		groups := &m.Buckets[i].Groups
		note(core.StagePlain, groups.Plain)
		if groups.PD != nil {
			note(core.StagePrefill, groups.PD.Prefill)
			note(core.StageDecode, groups.PD.Decode)
		}
	}
	return stages
}

// defaultPolicies checks the defaults of a model, each once, for the groups that
// take it.
func (v *validator) defaultPolicies(at string, m *Model) {
	for _, d := range []struct {
		key, overridden string
		policy          *Policy
	}{
		{"policy", "every group has a policy of its own or of its stage", m.Policy},
		{"prefill_policy", "no prefill group is without a policy of its own", m.PrefillPolicy},
		{"decode_policy", "no decode group is without a policy of its own", m.DecodePolicy},
	} {
		if d.policy == nil {
			continue
		}
		stages := m.stagesOf(d.policy)
		if len(stages) == 0 && v.whole.models {
			v.add(join(at, d.key), "has no effect: "+d.overridden, "leave it out, or leave a group's own policy out")
		}
		v.policy(join(at, d.key), strictest(stages), d.policy)
	}
}

// strictest gives the stage that takes the fewest policies: decode, where there is
// one.
func strictest(stages []core.Stage) core.Stage {
	for _, s := range stages {
		if s == core.StageDecode {
			return s
		}
	}
	return core.StagePlain
}
