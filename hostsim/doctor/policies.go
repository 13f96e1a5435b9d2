package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// eachPolicy calls visit for every policy of a configuration with its path.
func eachPolicy(s *spec.Config, visit func(path string, p *spec.Policy)) {
	if s == nil {
		return
	}
	call := func(path string, p *spec.Policy) {
		if p != nil {
			visit(path, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		at := tree.Join("models", name)
		call(at+".policy", m.Policy)
		call(at+".prefill_policy", m.PrefillPolicy)
		call(at+".decode_policy", m.DecodePolicy)
		for i, b := range m.Buckets {
			groups := fmt.Sprintf("%s.buckets[%d].groups", at, i)
			eachGroup(b.Groups, func(stage string, g *spec.Group) { call(groups+"."+stage+".policy", g.Policy) })
		}
	}
}

func eachGroup(g spec.Groups, visit func(stage string, g *spec.Group)) {
	if g.Plain != nil {
		visit("plain", g.Plain)
	}
	if g.PD != nil && g.PD.Prefill != nil {
		visit("pd.prefill", g.PD.Prefill)
	}
	if g.PD != nil && g.PD.Decode != nil {
		visit("pd.decode", g.PD.Decode)
	}
}

// need is a setting that goes by the body.
type need struct{ path, what string }

// needs lists the settings that cannot be honoured by headers alone.
func needs(s *spec.Config) (list []need) {
	eachPolicy(s, func(path string, p *spec.Policy) {
		switch {
		case p.Type == spec.PolicyCacheAware:
			list = append(list, need{path + ".type", "cache_aware"})
		case p.Type == spec.PolicyConsistentHash && p.Key == "prefix":
			list = append(list, need{path + ".key", "a hash of the prompt"})
		}
	})
	for _, k := range []struct {
		path string
		key  *spec.KeyHeader
	}{{"session", s.Session}, {"routing_key", s.RoutingKey}} {
		if k.key != nil && k.key.BodyFields != nil {
			list = append(list, need{k.path + ".body_fields", "a key in the body"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if s.Models[name].Sampling != nil {
			list = append(list, need{tree.Join("models", name) + ".sampling", "a contract on sampling parameters"})
		}
	}
	return list
}

// waitsAt is the path of the first setting for which each request of a model waits for
// a call to the state service, empty for none.
func waitsAt(s *spec.Config) (at string) {
	eachPolicy(s, func(path string, p *spec.Policy) {
		asks := p.Type == spec.PolicySessionAware || p.Type == spec.PolicySticky || p.Type == spec.PolicyCacheAware && p.Source != "history"
		if asks && at == "" {
			at = path
		}
	})
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		if at == "" && bounded(&m) && (m.Tokens == "" || m.Tokens == spec.TokensExact) {
			at = tree.Join("models", name) + ".tokens"
		}
	}
	return at
}

// bounded reports whether the buckets of a model go by the lengths of prompts.
func bounded(m *spec.Model) bool {
	return slices.ContainsFunc(m.Buckets, func(b spec.Bucket) bool {
		return b.MaxContextTokens != nil || b.Limits != nil && (b.Limits.Min != nil || b.Limits.Max != nil)
	})
}
