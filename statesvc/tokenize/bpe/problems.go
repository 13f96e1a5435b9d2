package bpe

import (
	"fmt"
	"strings"
)

// LoadError says everything that keeps a tokenizer.json from being used.
type LoadError struct {
	Problems []string
}

// Error joins the problems.
func (e *LoadError) Error() string {
	return "tokenizer.json cannot be used: " + strings.Join(e.Problems, "; ")
}

// problems collects what is wrong; of one kind only the first few are kept.
type problems struct {
	list  []string
	kinds map[string]int
}

// perKind is how many problems of one kind are told one by one.
const perKind = 3

func (p *problems) add(format string, args ...any) {
	if p.kinds == nil {
		p.kinds = map[string]int{}
	}
	p.kinds[format]++
	switch n := p.kinds[format]; {
	case n <= perKind:
		p.list = append(p.list, fmt.Sprintf(format, args...))
	case n == perKind+1:
		p.list = append(p.list, "and more like that")
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &LoadError{p.list}
}
