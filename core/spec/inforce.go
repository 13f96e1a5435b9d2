package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/policy"
)

// Bounds of what is said of the settings in force: the bytes of one line before its
// last words, and the models that are named.
const (
	maxInForce       = 1000
	maxInForceModels = 32
)

// InForce says in a few lines of bounded length what a valid configuration makes the
// filter do, defaults filled in: when breakers open, how long the state service is
// waited for, and for each model the policy of each group with all its settings (field
// report A40: a default that changed is noticed in the log). Settings have their names
// in the configuration.
func (c *Config) InForce() []string {
	b := c.BreakerConfig().Effective()
	lines := []string{fmt.Sprintf("breaker: threshold=%d cool_down_ms=%d", b.Threshold, b.CoolDown)}
	if st := c.State; st != nil {
		var s settings
		s.add("timeout_ms", valueOr(st.TimeoutMillis, DefaultSyncTimeout))
		s.add("observe_timeout_ms", valueOr(st.ObserveTimeoutMillis, DefaultCallTimeout))
		s.add("bind_timeout_ms", valueOr(st.BindTimeoutMillis, DefaultCallTimeout))
		s.add("call_stream", st.CallStream)
		s.add("pending_prefix_ms", valueOr(st.PendingPrefixMillis, DefaultPending))
		lines = append(lines, "state:"+string(s))
	}
	names := slices.Sorted(maps.Keys(c.Models))
	for i, name := range names {
		if i == maxInForceModels {
			return append(lines, fmt.Sprintf("and %d more models", len(names)-i))
		}
		m := c.Models[name]
		lines = append(lines, "model "+strconv.Quote(cut(name))+": "+m.inForce())
	}
	return lines
}

// inForce lists the groups of a model.
func (m *Model) inForce() string {
	var groups []string
	for i := range m.Buckets {
		b := &m.Buckets[i]
		note := func(stage core.Stage, g *Group) {
			if g == nil {
				return
			}
			if p := m.policyOf(stage, g); p != nil {
				groups = append(groups, strconv.Quote(cut(b.ID))+" "+stage.String()+" "+p.inForce())
			}
		}
		note(core.StagePlain, b.Groups.Plain)
		if b.Groups.PD != nil {
			note(core.StagePrefill, b.Groups.PD.Prefill)
			note(core.StageDecode, b.Groups.PD.Decode)
		}
	}
	size, shown := 0, 0
	for shown < len(groups) && (shown == 0 || size+len(groups[shown]) <= maxInForce) {
		size += len(groups[shown]) + len("; ")
		shown++
	}
	line := m.inputsInForce() + strings.Join(groups[:shown], "; ")
	if more := len(groups) - shown; more > 0 {
		line += fmt.Sprintf("; and %d more groups", more)
	}
	return line
}

// inputsInForce says what else engines are told of the model's requests.
func (m *Model) inputsInForce() string {
	var s settings
	if most := m.InputIDs.longest(); most > 0 {
		s.add("input_ids.max_tokens", most)
	}
	if m.DPRanks == DPRanksAlways {
		s.add("dp_ranks", m.DPRanks)
	}
	if s == "" {
		return ""
	}
	return strings.TrimPrefix(string(s), " ") + "; "
}

// inForce is the policy with all its settings.
func (p *Policy) inForce() string {
	var s settings
	switch p.Type {
	case PolicyPowerOfTwo:
		s.add("choices", valueOr(p.Choices, policy.DefaultChoices))
	case PolicyConsistentHash:
		s.add("key", p.Key)
		s.add("load_factor", valueOr(p.LoadFactor, policy.DefaultLoadFactor))
		s.add("load_floor", valueOr(p.LoadFloor, policy.DefaultLoadFloor))
		if p.Key == "prefix" {
			s.add("prefix_bytes", valueOr(p.PrefixBytes, policy.DefaultPrefixBytes))
		}
	case PolicySticky:
		fallback := p.Fallback
		set(&fallback, PolicyRoundRobin)
		s.add("fallback", fallback)
	case PolicyCacheAware:
		s.caching(p.caching())
	}
	if p.Admission != nil {
		s.caps(p.Admission)
	}
	return p.Type + string(s)
}

// settings is a list of names and values.
type settings string

func (s *settings) add(name string, value any) { *s += settings(fmt.Sprintf(" %s=%v", name, value)) }

func (s *settings) caching(c policy.Caching) {
	s.add("source", c.Source)
	s.add("private_match", c.Private)
	s.add("min_matched_tokens", c.MinMatchedTokens)
	s.add("min_match_ratio", c.MinMatchRatio)
	s.add("candidate_min_workers", c.CandidateMinWorkers)
	s.add("candidate_ratio", c.CandidateRatio)
	s.add("candidate_max_workers", c.CandidateMaxWorkers)
	s.limit("worker_queue_limit", c.WorkerQueueLimit)
	s.limit("saturation_queue_floor", c.SaturationQueueFloor)
	s.add("min_load_choices", c.MinLoadChoices)
	if c.Guard == nil {
		s.add("pressure_guard", false)
		return
	}
	s.add("switch_margin_tokens", c.SwitchMargin)
	s.add("abs_threshold_tokens", c.Guard.AbsTokens)
	if c.Guard.AbsMillis == nil {
		s.add("abs_threshold_ms", "none")
	} else {
		s.add("abs_threshold_ms", *c.Guard.AbsMillis)
	}
	s.add("rel_threshold", c.Guard.Rel)
}

// limit adds a setting whose zero is no limit.
func (s *settings) limit(name string, value uint64) {
	if value == 0 {
		s.add(name, "none")
		return
	}
	s.add(name, value)
}

func (s *settings) caps(l *admission.Limits) {
	for _, c := range []struct {
		name string
		most *uint64
	}{
		{admission.MaxRunningRequests, l.MaxRunningRequests},
		{admission.MaxWaitingRequests, l.MaxWaitingRequests},
		{admission.MaxKVTokens, l.MaxKVTokens},
		{admission.MaxPendingPrefillTokens, l.MaxPendingPrefillTokens},
		{admission.MaxInflightRequests, l.MaxInflightRequests},
	} {
		if c.most != nil {
			s.add(c.name, *c.most)
		}
	}
}

// cut shortens a name for a line of bounded length.
func cut(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "..."
}
