package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Path   string // where in the file, such as fleet.static[0].address
	Reason string // what is wrong and what to write instead
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

// Problems is every problem of one file: unknown keys and wrong types first, then
// values. It is an error when it is not empty.
type Problems []Problem

// Error is one line for a single problem, else a count and one line for each.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems:", len(p))
	for _, one := range p {
		b.WriteString("\n  " + one.String())
	}
	return b.String()
}

func (p *Problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}
