package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/policy"
)

// Bounds of policy parameters.
const (
	maxChoices     = 1 << 16
	maxLoadFloor   = 1 << 16
	maxPrefixBytes = 1 << 20
)

func (v *validator) policy(at string, p *Policy) {
	switch {
	case p.Type == "":
		v.add(at+".type", "is required", use(policies()...))
	case !slices.Contains(policies(), p.Type):
		why := refusedPolicy(p.Type)
		v.add(at+".type", why.reason, why.fix)
		v.anyKey()
	default:
		v.tuning(at, p)
	}
	if p.Admission == nil {
		return
	}
	for _, problem := range p.Admission.Validate("") {
		path, reason, _ := strings.Cut(problem.Error(), ": ")
		v.add(at+".admission"+path, reason, "")
	}
}

// tuning checks the parameters of policies. Those of another policy are refused:
// they would have no effect.
func (v *validator) tuning(at string, p *Policy) {
	for _, t := range []struct {
		name  string
		set   bool
		owner string
	}{
		{"choices", p.Choices != nil, PolicyPowerOfTwo},
		{"key", p.Key != "", PolicyConsistentHash},
		{"load_factor", p.LoadFactor != nil, PolicyConsistentHash},
		{"load_floor", p.LoadFloor != nil, PolicyConsistentHash},
		{"prefix_bytes", p.PrefixBytes != nil, PolicyConsistentHash},
	} {
		if t.set && t.owner != p.Type {
			v.add(at+"."+t.name, "has no effect on "+p.Type, "leave it out or use "+t.owner)
		}
	}
	switch p.Type {
	case PolicyPowerOfTwo:
		v.between(at+".choices", p.Choices, 1, maxChoices)
	case PolicyConsistentHash:
		v.hashing(at, p)
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
	case h.Header == "":
		v.add(at+".header", "is required", "name the header, or leave "+at+" out for the default one")
	case !headerName(h.Header):
		v.add(at+".header", strconv.Quote(h.Header)+" is not a header name", "use letters, digits and hyphens")
	case strings.HasPrefix(strings.ToLower(h.Header), "x-pointsman-"):
		v.add(at+".header", strconv.Quote(h.Header)+" is one of the router's own", "use another header")
	}
	if v.whole.models && !v.keys[key] {
		v.add(at, "has no effect: no policy uses such keys", `leave it out or use "consistent_hash" with such a "key"`)
	}
}

// headerName reports whether a name is a token (RFC 9110 section 5.6.2).
func headerName(name string) bool {
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}
