package chattemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits bounds one rendering.
type Limits struct {
	// Steps is how much work it may be: an expression is a step, and so are 32 bytes
	// that are looked at.
	Steps int
	// Bytes is how many bytes of text and values it may make, all in all.
	Bytes int
}

// For gives limits that any honest template keeps for arguments of that many bytes of
// JSON: a template copies a message a handful of times and does some hundred steps for
// each.
func For(size int) Limits {
	return Limits{Steps: 200_000 + 64*size, Bytes: 1<<20 + 16*size}
}

// ErrTooMuch says that a rendering went beyond its limits.
var ErrTooMuch = errors.New("the chat template does more than rendering these messages takes")

// RaisedError is what a template itself has to say against its arguments.
type RaisedError struct{ Message string }

// Error gives the template's words.
func (e *RaisedError) Error() string {
	return "the chat template refuses the messages: " + e.Message
}

// maxCalls bounds how deep macros call each other.
const maxCalls = 32

// Render gives the text for the arguments, which it does not change. It fails with the context's error, ErrTooMuch, a *RaisedError, or for what this
// package or Python cannot do with the arguments.
func (t *Template) Render(ctx context.Context, args *Dict, limits Limits) (string, error) {
	r := &renderer{ctx: ctx, limits: limits, root: &scope{args: args}}
	var out strings.Builder
	if err := r.run(t.nodes, r.root, &out); err != nil {
		return "", fmt.Errorf("render chat template: %w", err)
	}
	return out.String(), nil
}

type renderer struct {
	ctx         context.Context // lives for one rendering
	limits      Limits
	steps, made int
	calls       int
	root        *scope
	macros      map[string]*macroNode
}

// scope holds the names set in a block. Loops and macros have their own for each round.
type scope struct {
	args   *Dict // of the root
	names  []string
	values []Value
	parent *scope
}

func (s *scope) set(name string, v Value) {
	if i := slices.Index(s.names, name); i >= 0 {
		s.values[i] = v
		return
	}
	s.names, s.values = append(s.names, name), append(s.values, v)
}

func (s *scope) get(name string) (Value, bool) {
	for ; s != nil; s = s.parent {
		if i := slices.Index(s.names, name); i >= 0 {
			return s.values[i], true
		}
		if s.args != nil {
			if v, ok := s.args.Get(name); ok {
				return v, true
			}
		}
	}
	return undefined{}, false
}

// step counts work. The context is looked at every few thousand steps.
func (r *renderer) step(n int) error {
	before := r.steps
	r.steps += 1 + n/32
	if r.steps > r.limits.Steps {
		return ErrTooMuch
	}
	if before>>12 != r.steps>>12 {
		return r.ctx.Err()
	}
	return nil
}

// charge counts bytes before they are made.
func (r *renderer) charge(n int) error {
	r.made += n
	if n < 0 || r.made > r.limits.Bytes {
		return ErrTooMuch
	}
	return r.step(n)
}

func (r *renderer) run(nodes []node, s *scope, out *strings.Builder) error {
	for _, n := range nodes {
		if err := r.step(0); err != nil {
			return err
		}
		if err := r.node(n, s, out); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) node(n node, s *scope, out *strings.Builder) error {
	switch n := n.(type) {
	case *textNode:
		return r.write(out, n.text)
	case *outputNode:
		v, err := r.eval(n.value, s)
		if err != nil {
			return err
		}
		t, err := text(v)
		if err != nil {
			return err
		}
		return r.write(out, t)
	case *ifNode:
		return r.choose(n, s, out)
	case *forNode:
		return r.loop(n, s, out)
	case *setNode:
		return r.assign(n, s)
	case *macroNode:
		if r.macros == nil {
			r.macros = map[string]*macroNode{}
		}
		r.macros[n.name] = n
		s.set(n.name, function(n.name))
		return nil
	case *jumpNode:
		return jump{n.out}
	}
	return unsupported("a statement of type %T", n)
}

func (r *renderer) choose(n *ifNode, s *scope, out *strings.Builder) error {
	for _, b := range n.branches {
		if b.condition != nil {
			v, err := r.eval(b.condition, s)
			if err != nil {
				return err
			}
			if !truthy(v) {
				continue
			}
		}
		return r.run(b.body, s, out)
	}
	return nil
}

func (r *renderer) write(out *strings.Builder, t string) error {
	if err := r.charge(len(t)); err != nil {
		return err
	}
	out.WriteString(t)
	return nil
}

func (r *renderer) assign(n *setNode, s *scope) error {
	v, err := r.assigned(n, s)
	if err != nil {
		return err
	}
	if n.member == "" {
		s.set(n.target, v)
		return nil
	}
	target, _ := s.get(n.target)
	ns, ok := target.(namespace)
	if !ok {
		return typeError("%s is no namespace", n.target)
	}
	ns.Set(n.member, v)
	return nil
}

func (r *renderer) assigned(n *setNode, s *scope) (Value, error) {
	if n.value != nil {
		return r.eval(n.value, s)
	}
	var block strings.Builder
	err := r.run(n.body, &scope{parent: s}, &block)
	return block.String(), err
}
