package chattemplate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Value is nil for none, a bool, int64, float64, string, Big, *List, *Dict, or one of
// the package's own kinds.
type Value any

// undefined is the value of a name or member that is not there.
type undefined struct{}

// Big is an integer beyond 64 bits, in digits.
type Big string

// List is a sequence.
type List struct{ Items []Value }

// Dict is a mapping in the order of insertion.
type Dict struct {
	keys   []string
	values map[string]Value
}

// NewDict makes an empty mapping.
func NewDict() *Dict { return &Dict{values: map[string]Value{}} }

// dictBytes is what a mapping of n members counts as among the bytes that a rendering makes.
func dictBytes(n int) int { return 64 * (1 + n) }

// Set adds or replaces a member. A replaced one keeps its place.
func (d *Dict) Set(key string, v Value) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// Get gives a member.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Keys lists the keys in order. Callers do not change it.
func (d *Dict) Keys() []string { return d.keys }

// Len is the number of members.
func (d *Dict) Len() int { return len(d.keys) }

// namespace is what namespace() makes: a mapping whose members templates set.
type namespace struct{ *Dict }

// function is a name that can be called.
type function string

// errUnsupported is wrapped by everything that Python would do and this package does
// not, and errType by what fails there too.
var (
	errUnsupported = errors.New("not done here")
	errType        = errors.New("fails in Python too")
)

func typeError(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errType)...)
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errUnsupported)...)
}

// kindOf names a value for a message.
func kindOf(v Value) string {
	switch v.(type) {
	case nil:
		return "none"
	case undefined:
		return "undefined"
	case *List:
		return "a list"
	case *Dict:
		return "a mapping"
	case *generator:
		return "what map gave"
	}
	return fmt.Sprintf("a %T", v)
}

func truthy(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return v.Len() > 0
	}
	return true
}

// text is what Python's str gives, for the values whose printing is the same here.
func text(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "None", nil
	case undefined:
		return "", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return pythonFloat(v), nil
	case Big:
		return string(v), nil
	}
	return "", unsupported("printing %s", kindOf(v))
}

// pythonFloat is Python's repr of a float: the shortest digits, with an exponent below
// 1e-4 and from 1e16.
func pythonFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// number gives the value as a float if it is one of Python's numbers.
func number(v Value) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// equal compares as Python does. Values that templates build can share and even hold
// themselves, so depth and work are counted.
func (r *renderer) equal(a, b Value, depth int) (bool, error) {
	if depth > maxNesting {
		return false, ErrTooMuch
	}
	if err := r.step(0); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b, r.step(len(a))
	case *List:
		b, ok := b.(*List)
		if !ok || len(a.Items) != len(b.Items) {
			return false, nil
		}
		for i := range a.Items {
			if same, err := r.equal(a.Items[i], b.Items[i], depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		for _, k := range a.keys {
			v, ok := b.values[k]
			if !ok {
				return false, nil
			}
			if same, err := r.equal(a.values[k], v, depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	return equalPlain(a, b), nil
}

// equalPlain compares values that hold no others.
func equalPlain(a, b Value) bool {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x == y
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	if a, ok := a.(namespace); ok {
		b, ok := b.(namespace)
		return ok && a.Dict == b.Dict
	}
	switch b.(type) {
	case *List, *Dict, namespace:
		return false
	}
	return a == b
}

func compare(a, b Value) (int, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil // the order of UTF-8 is that of code points
		}
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil // beyond 2^53 floats have no room for both
		}
	}
	if _, ok := a.(*List); ok {
		return 0, unsupported("the order of lists")
	}
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return 0, typeError("comparing %s with %s", kindOf(a), kindOf(b))
	}
	return cmp.Compare(x, y), nil
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

// TrimRight is Python's str.rstrip.
func TrimRight(s string) string { return strings.TrimRightFunc(s, isSpace) }
