package chattemplate

import (
	"errors"
	"strings"
)

// jump leaves a round of a loop.
type jump struct{ out bool }

func (jump) Error() string { return "break or continue outside of a loop" }

func (r *renderer) loop(n *forNode, s *scope, out *strings.Builder) error {
	over, err := r.eval(n.over, s)
	if err != nil {
		return err
	}
	items, err := r.iterate(over)
	if err != nil {
		return err
	}
	if n.condition != nil {
		if items, err = r.filtered(n, items, s); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return r.run(n.otherwise, s, out)
	}
	state := &loopState{items: items}
	for i, v := range items {
		round := &scope{parent: s}
		state.index = i
		round.set("loop", state)
		if err := bind(n.vars, v, round); err != nil {
			return err
		}
		err := r.run(n.body, round, out)
		if j, ok := errors.AsType[jump](err); ok {
			if j.out {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) filtered(n *forNode, items []Value, s *scope) ([]Value, error) {
	if err := r.charge(16 * len(items)); err != nil {
		return nil, err
	}
	kept := make([]Value, 0, len(items))
	for _, v := range items {
		round := &scope{parent: s}
		if err := bind(n.vars, v, round); err != nil {
			return nil, err
		}
		ok, err := r.eval(n.condition, round)
		if err != nil {
			return nil, err
		}
		if truthy(ok) {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

// bind sets a loop's names to an item or to its parts.
func bind(vars []string, v Value, s *scope) error {
	if len(vars) == 1 {
		s.set(vars[0], v)
		return nil
	}
	l, ok := v.(*List)
	if !ok || len(l.Items) != len(vars) {
		return typeError("unpacking %s into %d names", kindOf(v), len(vars))
	}
	for i, name := range vars {
		s.set(name, l.Items[i])
	}
	return nil
}

// iterate lists what a loop goes through.
func (r *renderer) iterate(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, r.step(0)
	case undefined:
		return nil, nil
	case *generator:
		if v.used {
			return nil, unsupported("going twice through what map gave")
		}
		v.used = true
		return v.items, r.step(0)
	case *Dict:
		if err := r.charge(16 * v.Len()); err != nil {
			return nil, err
		}
		items := make([]Value, v.Len())
		for i, k := range v.keys {
			items[i] = k
		}
		return items, nil
	case string:
		if err := r.charge(20 * len(v)); err != nil {
			return nil, err
		}
		items := make([]Value, 0, len(v))
		for _, c := range v {
			items = append(items, string(c))
		}
		return items, nil
	}
	return nil, typeError("going through %s", kindOf(v))
}

// loopState is the loop variable.
type loopState struct {
	items []Value
	index int
}

func (l *loopState) member(name string) (Value, error) {
	i, n := int64(l.index), int64(len(l.items))
	switch name {
	case "index":
		return i + 1, nil
	case "index0":
		return i, nil
	case "revindex":
		return n - i, nil
	case "revindex0":
		return n - i - 1, nil
	case "length":
		return n, nil
	case "first":
		return i == 0, nil
	case "last":
		return i == n-1, nil
	case "previtem":
		if i > 0 {
			return l.items[i-1], nil
		}
		return undefined{}, nil
	case "nextitem":
		if i < n-1 {
			return l.items[i+1], nil
		}
		return undefined{}, nil
	}
	return nil, unsupported("loop.%s", name)
}
