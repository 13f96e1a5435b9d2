package chattemplate

import (
	"math"
	"slices"
	"strings"
)

func (r *renderer) unary(e *unary, s *scope) (Value, error) {
	v, err := r.eval(e.of, s)
	if err != nil {
		return nil, err
	}
	if e.op == "not" {
		return !truthy(v), nil
	}
	n, ok := v.(int64)
	switch {
	case !ok || n == math.MinInt64:
		return nil, unsupported("%s before %s", e.op, kindOf(v))
	case e.op == "-":
		return -n, nil
	}
	return n, nil
}

func (r *renderer) binary(e *binary, s *scope) (Value, error) {
	left, err := r.eval(e.left, s)
	if err != nil {
		return nil, err
	}
	switch {
	case e.op == "and" && !truthy(left), e.op == "or" && truthy(left):
		return left, nil
	}
	right, err := r.eval(e.right, s)
	if err != nil {
		return nil, err
	}
	switch e.op {
	case "and", "or":
		return right, nil
	case "==":
		return r.equal(left, right, 0)
	case "!=":
		same, err := r.equal(left, right, 0)
		return !same, err
	case "<", "<=", ">", ">=":
		c, err := compare(left, right)
		return e.op[0] == '<' && c < 0 || e.op[0] == '>' && c > 0 || len(e.op) == 2 && c == 0, err
	case "in":
		return r.contains(right, left)
	case "not in":
		in, err := r.contains(right, left)
		return !in, err
	case "~":
		return r.concat(left, right)
	}
	return r.arithmetic(e.op, left, right)
}

func (r *renderer) contains(in, v Value) (bool, error) {
	switch in := in.(type) {
	case string:
		t, ok := v.(string)
		if !ok {
			return false, typeError("looking for %s in a string", kindOf(v))
		}
		return strings.Contains(in, t), r.step(len(in))
	case *List:
		for _, item := range in.Items {
			if same, err := r.equal(item, v, 0); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case *Dict:
		key, ok := v.(string)
		_, found := in.values[key]
		return ok && found, nil
	case undefined:
		return false, nil
	case *generator:
		return false, unsupported("looking into what map gave")
	}
	return false, typeError("looking into %s", kindOf(in))
}

func (r *renderer) concat(left, right Value) (Value, error) {
	a, err := text(left)
	if err != nil {
		return nil, err
	}
	b, err := text(right)
	if err != nil {
		return nil, err
	}
	if err := r.charge(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}

// arithmetic adds lists and strings, and does whole numbers of a sane size.
func (r *renderer) arithmetic(op string, left, right Value) (Value, error) {
	switch a := left.(type) {
	case string:
		if b, ok := right.(string); ok && op == "+" {
			return r.concat(a, b)
		}
	case *List:
		if b, ok := right.(*List); ok && op == "+" {
			err := r.charge(16 * (len(a.Items) + len(b.Items)))
			if err != nil {
				return nil, err
			}
			return &List{slices.Concat(a.Items, b.Items)}, nil
		}
	case int64:
		const sane = 1 << 31
		if b, ok := right.(int64); ok && max(a, b) <= sane && min(a, b) >= -sane {
			return calculate(op, a, b)
		}
	}
	return nil, unsupported("%s %s %s", kindOf(left), op, kindOf(right))
}

func calculate(op string, a, b int64) (Value, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		return nil, typeError("a division by zero")
	}
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) { // Python rounds down
		quotient, rest = quotient-1, rest+b
	}
	if op == "%" {
		return rest, nil
	}
	return quotient, nil
}
