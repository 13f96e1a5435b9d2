package spec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/pressure"
)

// newPolicy makes one policy and notes what it needs, its nested fallback
// included.
func (r *Router) newPolicy(at place, p *Policy, h Handles) (bucket.Policy, error) {
	if p == nil {
		return nil, errors.New("the group has no policy")
	}
	limits := valueOr(p.Admission, admission.Limits{})
	switch p.Type {
	case PolicyRoundRobin:
		return policy.NewRoundRobin(limits, h.Load, h.start())
	case PolicyLoadBased:
		return policy.NewLoadBased(limits, h.Load, h.start())
	case PolicyConsistentHash:
		return r.consistentHash(p, limits, h)
	case PolicyRandom:
		return policy.NewRandom(limits, h.Load)
	case PolicyPowerOfTwo:
		return policy.NewPowerOfTwo(int(valueOr(p.Choices, policy.DefaultChoices)), limits, h.Load)
	case PolicySessionAware:
		r.needScope(at, policy.KeySession)
		return policy.NewSessionAware(limits, h.Load, h.Bindings)
	case PolicySticky:
		return r.sticky(at, p, limits, h)
	case PolicyCacheAware:
		return r.cacheAware(p, limits, h)
	}
	return nil, fmt.Errorf("policy %q is not known", p.Type)
}

func (r *Router) consistentHash(p *Policy, limits admission.Limits, h Handles) (bucket.Policy, error) {
	key, ok := policy.ParseKeySource(p.Key)
	if !ok {
		return nil, fmt.Errorf("policy %s: key %q is not known", p.Type, p.Key)
	}
	r.needKey(key)
	hashing := policy.Hashing{
		Key:         key,
		LoadFactor:  valueOr(p.LoadFactor, policy.DefaultLoadFactor),
		LoadFloor:   valueOr(p.LoadFloor, policy.DefaultLoadFloor),
		PrefixBytes: int(valueOr(p.PrefixBytes, policy.DefaultPrefixBytes)),
	}
	if key == policy.KeyPrefix {
		needs := &r.building().needs
		needs.PromptBytes = max(needs.PromptBytes, hashing.PrefixBytes)
	}
	return policy.NewConsistentHash(hashing, limits, h.Load)
}

func (r *Router) sticky(at place, p *Policy, limits admission.Limits, h Handles) (bucket.Policy, error) {
	fallback := policy.FallbackRoundRobin
	if p.Fallback != "" {
		named, ok := policy.ParseFallback(p.Fallback)
		if !ok {
			return nil, fmt.Errorf("policy %s: fallback %q is not known", p.Type, p.Fallback)
		}
		fallback = named
	}
	r.needScope(at, policy.KeyRouting)
	return policy.NewSticky(fallback, limits, h.Load, h.Bindings, h.start())
}

func (r *Router) cacheAware(p *Policy, limits admission.Limits, h Handles) (bucket.Policy, error) {
	c := p.caching()
	if c.Source == policy.SourceHistory {
		r.needHistory()
	} else {
		r.needSource(c.Source)
	}
	return policy.NewCacheAware(c, limits, h.Load, h.Prefixes)
}

// caching gives the settings of cache_aware, defaults filled in.
func (p *Policy) caching() policy.Caching {
	c := policy.DefaultCaching()
	if p.Source != "" {
		c.Source = p.Source
	}
	c.Private = valueOr(p.PrivateMatch, c.Source == policy.SourceHistory)
	if c.Private {
		c.MinLoadChoices = policy.DefaultPrivateChoices
	}
	c.MinMatchedTokens = valueOr(p.MinMatchedTokens, c.MinMatchedTokens)
	c.MinMatchRatio = valueOr(p.MinMatchRatio, c.MinMatchRatio)
	c.CandidateMinWorkers = valueOr(p.CandidateMinWorkers, c.CandidateMinWorkers)
	c.CandidateRatio = valueOr(p.CandidateRatio, c.CandidateRatio)
	c.CandidateMaxWorkers = valueOr(p.CandidateMaxWorkers, c.CandidateMaxWorkers)
	c.SwitchMargin = valueOr(p.SwitchMarginTokens, c.SwitchMargin)
	c.WorkerQueueLimit = valueOr(p.WorkerQueueLimit, c.WorkerQueueLimit)
	c.SaturationQueueFloor = valueOr(p.SaturationQueueFloor, c.SaturationQueueFloor)
	c.MinLoadChoices = int(valueOr(p.MinLoadChoices, uint64(c.MinLoadChoices)))
	if p.PressureGuard != nil {
		c.Guard = p.PressureGuard.guard(c.Guard)
	}
	return c
}

// guard gives the guard, nil when it is off.
func (g *Guard) guard(defaults *pressure.Guard) *pressure.Guard {
	if g.Off {
		return nil
	}
	return &pressure.Guard{
		AbsTokens: valueOr(g.AbsThresholdTokens, defaults.AbsTokens),
		AbsMillis: g.AbsThresholdMillis,
		Rel:       valueOr(g.RelThreshold, defaults.Rel),
	}
}

// needKey notes that requests must bring a kind of key.
func (r *Router) needKey(key policy.KeySource) {
	switch key {
	case policy.KeySession:
		r.needs.Session, r.needs.SessionFields = r.headers.session, r.headers.sessionFields
	case policy.KeyRouting:
		r.needs.Routing, r.needs.RoutingFields = r.headers.routing, r.headers.routingFields
	case policy.KeyPrefix:
	}
}

// building is the model that is being added.
func (r *Router) building() *routed { return r.models[len(r.models)-1] }

// needScope notes that keys of a kind are bound at a place.
func (r *Router) needScope(at place, kind policy.KeySource) {
	r.needKey(kind)
	r.needs.Bindings = true
	m := r.building()
	m.needs.Scopes = append(m.needs.Scopes, policy.Scope{Kind: kind, Model: at.model, Bucket: at.bucket, Stage: at.stage})
}

// needHistory notes that the model's requests go by what was sent where.
func (r *Router) needHistory() { r.building().needs.History, r.needs.History = true, true }

// needSource notes that the model's requests ask a prefix source.
func (r *Router) needSource(source string) {
	m := r.building()
	m.needs.Prefixes = with(m.needs.Prefixes, source)
	r.needs.Prefixes = with(r.needs.Prefixes, source)
}

// with gives a sorted list that has the name once.
func with(names []string, name string) []string {
	if at, found := slices.BinarySearch(names, name); !found {
		names = slices.Insert(names, at, name)
	}
	return names
}

// valueOr gives what a setting points at, or its default.
func valueOr[T any](setting *T, value T) T {
	if setting == nil {
		return value
	}
	return *setting
}
