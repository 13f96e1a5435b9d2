package spec

import (
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
)

// tokens checks where a model's prompt lengths come from.
func (v *validator) tokens(at string, m *Model) {
	switch m.Tokens {
	case "", TokensEstimate:
	case TokensExact, TokensAmbiguous:
		if v.whole.fleet && v.cfg.State == nil {
			v.add(at, strconv.Quote(m.Tokens)+" needs a state service, which counts the tokens", `add "state", or use "estimate"`)
		}
		if v.whole.models && !m.bounded() {
			v.add(at, strconv.Quote(m.Tokens)+" has no effect: no bucket has a bound on lengths", "give a bucket limits or max_context_tokens, or leave it out")
		}
	default:
		v.add(at, strconv.Quote(m.Tokens)+" is not a choice", `use "exact", "ambiguous" or "estimate"`)
	}
}

// inputIDs refuses what could never forward a chat with its ids.
func (v *validator) inputIDs(at string, m *Model) {
	if m.InputIDs == nil {
		return
	}
	v.between(at+".max_tokens", m.InputIDs.MaxTokens, 1, MaxInputIDs)
	if v.whole.fleet && v.cfg.State == nil {
		v.add(at, "needs a state service, which knows the tokens", `add "state", or leave it out`)
	}
	if v.cfg.Paths != nil && !slices.ContainsFunc(v.cfg.Paths, func(p string) bool { return chat.DialectOf(p) == chat.DialectChat }) {
		v.add(at, "has no effect: only chats are forwarded with ids, and their path is not routed", `add "/v1/chat/completions" to paths, or leave it out`)
	}
}

// dpRanks refuses what could never name a rank.
func (v *validator) dpRanks(at string, m *Model) {
	switch m.DPRanks {
	case "":
	case DPRanksPrefix:
		if v.whole.models && !m.asks(policy.DefaultPrefixSource) {
			v.add(at, strconv.Quote(m.DPRanks)+" has no effect: no policy goes by the prefixes that the state service knows",
				`use cache_aware with the source "`+policy.DefaultPrefixSource+`", or leave it out`)
		}
	case DPRanksAlways:
		if v.whole.fleet && v.cfg.State == nil {
			v.add(at, strconv.Quote(m.DPRanks)+" needs a state service, which knows how many ranks an engine has", `add "state", or leave it out`)
		}
		v.keys[policy.KeySession], v.keys[policy.KeyRouting] = true, true
	default:
		v.add(at, strconv.Quote(m.DPRanks)+" is not a choice", `use "`+DPRanksPrefix+`" or "`+DPRanksAlways+`"`)
	}
}

// asks reports whether some group's policy looks prompts up at a source.
func (m *Model) asks(source string) (found bool) {
	m.eachPolicy(func(p *Policy) { found = found || p.Type == PolicyCacheAware && p.caching().Source == source })
	return found
}
