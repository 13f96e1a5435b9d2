package render

import (
	"fmt"
	"strings"
)

// Refusal is something that a target cannot be rendered with.
type Refusal struct {
	// Path is a place in the filter configuration, like models.demo.tokens, or a
	// flag, like --state.
	Path string
	// Reason says what is wrong.
	Reason string
	// Instead says what to write or use; empty when the reason says it.
	Instead string
}

func (r Refusal) String() string {
	s := r.Path + ": " + r.Reason
	if r.Instead != "" {
		s += "; instead: " + r.Instead
	}
	return s
}

// Refusals is everything that a target refuses of one input.
type Refusals []Refusal

func (rs Refusals) Error() string {
	lines := make([]string, 0, len(rs))
	for _, r := range rs {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n")
}

// Add notes a refusal.
func (rs *Refusals) Add(path, instead, reason string, args ...any) {
	*rs = append(*rs, Refusal{Path: path, Reason: fmt.Sprintf(reason, args...), Instead: instead})
}

// Err gives the refusals as an error, nil when there are none.
func (rs Refusals) Err() error {
	if len(rs) == 0 {
		return nil
	}
	return rs
}
