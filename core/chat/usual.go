package chat

import "github.com/pointsman/pointsman/core"

// takeUsual reads a member whose value is written as nearly all clients write it,
// and reports whether it did. The library reads any value, with many times the
// code, and in a filter, which runs cold, the code is what costs.
func (r *reader) takeUsual(m member, raw string) bool {
	switch {
	case m == memberModel && len(raw) > 2 && raw[0] == '"' && plain(raw, 1) == len(raw)-1:
		r.facts.Model = raw[1 : len(raw)-1]
		return true
	case m == memberStream:
		r.facts.Stream = raw == "true"
		return r.facts.Stream || raw == "false"
	case m == memberMaxTokens:
		r.budget = core.ReadDigits(raw)
		return r.budget.Known
	case m == memberMaxCompletion:
		r.overrides = core.ReadDigits(raw)
		return r.overrides.Known
	}
	return false
}
