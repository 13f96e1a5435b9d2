package spec

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a configuration: where, what, and what to
// write instead.
type Problem struct {
	Path   string // like models.demo.buckets[1].limits.min; empty for the whole document
	Reason string
	Fix    string // empty when the reason says it all
}

func (p Problem) String() string {
	s := p.Reason
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Problems is every problem of one configuration. Its text is the number of
// problems and then one line for each.
type Problems []Problem

func (ps Problems) Error() string {
	var b strings.Builder
	noun := "problems"
	if len(ps) == 1 {
		noun = "problem"
	}
	fmt.Fprintf(&b, "%d %s in the filter configuration", len(ps), noun)
	for _, p := range ps {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// err gives the problems as an error, nil when there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps *Problems) add(path, reason, fix string) {
	*ps = append(*ps, Problem{Path: path, Reason: reason, Fix: fix})
}
