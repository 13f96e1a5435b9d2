package chat

import (
	"strings"

	"github.com/pointsman/pointsman/core"
)

// takeUsual reads a member whose value is written as nearly all clients write it,
// and reports whether it did. The library reads any value, with many times the
// code, and in a filter, which runs cold, the code is what costs.
func (r *reader) takeUsual(m member, raw string) bool {
	switch {
	case m == memberModel && len(raw) > 2 && raw[0] == '"' && plain(raw, 1) == len(raw)-1:
		r.facts.Model = strings.Clone(raw[1 : len(raw)-1])
		return true
	case m == memberStream:
		r.facts.Stream = raw == "true"
		return r.facts.Stream || raw == "false"
	case m == memberMaxTokens:
		return shortInteger(&r.budget, raw)
	case m == memberMaxCompletion:
		return shortInteger(&r.overrides, raw)
	}
	return false
}

// shortInteger reads digits, of which there are so few that they fit.
func shortInteger(to *core.Count, raw string) bool {
	const most = 18
	if raw == "" || len(raw) > most {
		return false
	}
	var n uint64
	for _, c := range []byte(raw) {
		if c < '0' || c > '9' {
			return false
		}
		n = 10*n + uint64(c-'0')
	}
	*to = core.Known(n)
	return true
}
