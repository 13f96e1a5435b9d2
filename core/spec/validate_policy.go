package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
)

// Bounds of policy parameters.
const (
	maxChoices     = 1 << 16
	maxLoadFloor   = 1 << 16
	maxPrefixBytes = 1 << 20
	maxIdle        = 7 * 24 * 60 * 60 // seconds
)

func (v *validator) policy(at string, stage core.Stage, p *Policy) {
	offered := policies()
	switch {
	case p.Type == "":
		v.add(at+".type", "is required", use(offered...))
	case !slices.Contains(offered, p.Type):
		why := refusedPolicy(p.Type, offered)
		v.add(at+".type", why.reason, why.fix)
		v.anyKey()
	default:
		v.tuning(at, p)
		v.parameters(at, stage, p)
		v.store(at, p)
	}
	if p.Admission == nil {
		return
	}
	for _, problem := range p.Admission.Validate("") {
		path, reason, _ := strings.Cut(problem.Error(), ": ")
		v.add(at+".admission"+path, reason, "")
	}
}

// store refuses policies that bind keys where nobody keeps bindings: they would
// place every key by hash, which another policy does openly.
func (v *validator) store(at string, p *Policy) {
	key := map[string]string{PolicySessionAware: "session", PolicySticky: "routing"}[p.Type]
	if key != "" && v.cfg.State == nil && v.whole.fleet {
		v.add(at+".type", strconv.Quote(p.Type)+" binds keys in the state service, and there is no \"state\"",
			`write "state": {"cluster": ...}, or use "consistent_hash" with "key": "`+key+`", which needs none`)
	}
}

// tuning refuses the parameters of other policies: they would have no effect.
func (v *validator) tuning(at string, p *Policy) {
	for _, t := range p.parameters() {
		if !t.set || t.owner == p.Type {
			continue
		}
		v.add(at+"."+t.name, "has no effect on "+p.Type, "leave it out or use "+t.owner)
	}
}

// parameter is one that a single policy reads.
type parameter struct {
	name  string
	set   bool
	owner string
}

func (p *Policy) parameters() []parameter {
	return []parameter{
		{"choices", p.Choices != nil, PolicyPowerOfTwo},
		{"key", p.Key != "", PolicyConsistentHash},
		{"load_factor", p.LoadFactor != nil, PolicyConsistentHash},
		{"load_floor", p.LoadFloor != nil, PolicyConsistentHash},
		{"prefix_bytes", p.PrefixBytes != nil, PolicyConsistentHash},
		{"fallback", p.Fallback != "", PolicySticky},
		{"source", p.Source != "", PolicyCacheAware},
		{"private_match", p.PrivateMatch != nil, PolicyCacheAware},
		{"min_matched_tokens", p.MinMatchedTokens != nil, PolicyCacheAware},
		{"min_match_ratio", p.MinMatchRatio != nil, PolicyCacheAware},
		{"candidate_min_workers", p.CandidateMinWorkers != nil, PolicyCacheAware},
		{"candidate_ratio", p.CandidateRatio != nil, PolicyCacheAware},
		{"candidate_max_workers", p.CandidateMaxWorkers != nil, PolicyCacheAware},
		{"switch_margin_tokens", p.SwitchMarginTokens != nil, PolicyCacheAware},
		{"worker_queue_limit", p.WorkerQueueLimit != nil, PolicyCacheAware},
		{"saturation_queue_floor", p.SaturationQueueFloor != nil, PolicyCacheAware},
		{"min_load_choices", p.MinLoadChoices != nil, PolicyCacheAware},
		{"pressure_guard", p.PressureGuard != nil, PolicyCacheAware},
	}
}

// parameters checks those of the policy itself.
func (v *validator) parameters(at string, stage core.Stage, p *Policy) {
	switch p.Type {
	case PolicyPowerOfTwo:
		v.between(at+".choices", p.Choices, 1, maxChoices)
	case PolicyConsistentHash:
		v.hashing(at, p)
	case PolicySessionAware:
		v.keys[policy.KeySession], v.bound[policy.KeySession] = true, true
	case PolicySticky:
		v.keys[policy.KeyRouting], v.bound[policy.KeyRouting] = true, true
		if _, ok := policy.ParseFallback(p.Fallback); !ok && p.Fallback != "" {
			v.add(at+".fallback", strconv.Quote(p.Fallback)+" is not a choice", use(PolicyRoundRobin, PolicyRandom, PolicyPowerOfTwo, PolicyLoadBased))
		}
	case PolicyCacheAware:
		v.caching(at, stage, p)
	}
}

func (v *validator) hashing(at string, p *Policy) {
	keys := use("session", "routing", "prefix")
	key, ok := policy.ParseKeySource(p.Key)
	switch {
	case p.Key == "":
		v.add(at+".key", "is required", keys)
		v.anyKey()
	case !ok:
		v.add(at+".key", strconv.Quote(p.Key)+" is not a choice", keys)
		v.anyKey()
	default:
		v.keys[key] = true
	}
	if f := p.LoadFactor; f != nil && (!(*f >= 1) || math.IsInf(*f, 0)) {
		v.add(at+".load_factor", fmt.Sprintf("%v is out of range", *f), "use a number of at least 1")
	}
	v.between(at+".load_floor", p.LoadFloor, 1, maxLoadFloor)
	v.between(at+".prefix_bytes", p.PrefixBytes, 1, maxPrefixBytes)
	if ok && key != policy.KeyPrefix && p.PrefixBytes != nil {
		v.add(at+".prefix_bytes", "has no effect on keys of "+p.Key, `leave it out or use "key": "prefix"`)
	}
}

// anyKey notes that a policy may be meant to use keys of any kind.
func (v *validator) anyKey() {
	v.keys[policy.KeySession], v.keys[policy.KeyRouting] = true, true
	v.bound[policy.KeySession], v.bound[policy.KeyRouting] = true, true
}

// keyHeaders checks the headers of keys, once it is known which keys are used.
func (v *validator) keyHeaders() {
	v.keyHeader("session", v.cfg.Session, policy.KeySession)
	v.keyHeader("routing_key", v.cfg.RoutingKey, policy.KeyRouting)
}

func (v *validator) keyHeader(at string, h *KeyHeader, key policy.KeySource) {
	if h == nil {
		return
	}
	switch {
	case h.Header == "" && (h.IdleSecs != nil || h.BodyFields != nil):
	case h.Header == "":
		v.add(at+".header", "is required", "name the header, or leave "+at+" out for the default one")
	case !headerName(h.Header):
		v.add(at+".header", strconv.Quote(h.Header)+" is not a header name", "use letters, digits and hyphens")
	case strings.HasPrefix(strings.ToLower(h.Header), ownPrefix):
		v.add(at+".header", strconv.Quote(h.Header)+" is one of the router's own", "use another header")
	}
	if v.whole.models && !v.keys[key] {
		v.add(at, "has no effect: no policy uses such keys", `leave it out or use "consistent_hash" with such a "key"`)
		return
	}
	v.bodyFields(at+".body_fields", h.BodyFields)
	v.between(at+".idle_secs", h.IdleSecs, 1, maxIdle)
	if v.whole.models && h.IdleSecs != nil && !v.bound[key] {
		v.add(at+".idle_secs", "has no effect: no policy binds such keys", "leave it out")
	}
}

func (v *validator) bodyFields(at string, names *[]string) {
	if names == nil {
		return
	}
	if len(*names) == 0 {
		v.add(at, "an empty list has no effect", "leave it out")
	}
	for i, name := range *names {
		if _, ok := chat.ParseField(name); !ok {
			v.add(index(at, i), strconv.Quote(name)+" is not a member that can be a key", use(chat.FieldNames()...))
		} else if slices.Contains((*names)[:i], name) {
			v.add(index(at, i), strconv.Quote(name)+" stands twice", "keep one")
		}
	}
}

// headerName reports whether a name is a token (RFC 9110 section 5.6.2).
func headerName(name string) bool {
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}

// PolicyOf names the policy that a setting of a policy is for; not ok for settings
// that all have, and for others.
func PolicyOf(setting string) (policy string, ok bool) {
	for _, p := range (&Policy{}).parameters() {
		if p.name == setting {
			return p.owner, true
		}
	}
	return "", false
}
