package chattemplate

import (
	"math"
	"strconv"
	"strings"
)

// whole does Jinja's filter int: the whole number that a value is or says, or the default.
func (r *renderer) whole(v Value, args []Value, named *Dict) (Value, error) {
	given, err := params("int", args, named, "default", "base")
	if err != nil {
		return nil, err
	}
	base, otherwise := Value(int64(10)), Value(int64(0))
	if b, ok := given["base"]; ok {
		base = b
	}
	if d, ok := given["default"]; ok {
		otherwise = d
	}
	switch v := v.(type) {
	case int64, Big:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		return truncated(v)
	case nil, *List, *Dict:
		return otherwise, nil
	case string:
		if err := r.step(len(v)); err != nil {
			return nil, err
		}
		return wholeOf(strings.TrimFunc(v, isSpace), base, otherwise)
	}
	return nil, typeError("int of %s", kindOf(v))
}

func truncated(f float64) (Value, error) {
	if !(math.Abs(f) < 1<<62) { // also no number at all
		return nil, unsupported("int of %v", f)
	}
	return int64(f), nil
}

// wholeOf reads a text as Python's int does and, where that fails, what Python's float
// reads, without its fraction. Digits of other scripts and underscores between digits
// are refused.
func wholeOf(s string, base, otherwise Value) (Value, error) {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == '_' {
			return nil, unsupported("int of such digits")
		}
	}
	b, ok := base.(int64)
	if !ok || b != 2 && b != 8 && b != 10 && b != 16 {
		return nil, unsupported("int with this base")
	}
	if digits, ok := digitsOf(s, int(b)); ok {
		n, err := strconv.ParseInt(digits, int(b), 64)
		if err != nil {
			return nil, unsupported("int of a number beyond 64 bits")
		}
		return n, nil
	}
	if !isDecimal(s) {
		return otherwise, nil
	}
	f, _ := strconv.ParseFloat(s, 64)
	if math.IsInf(f, 0) { // too large for a float, which Python says of it too
		return otherwise, nil
	}
	return truncated(f)
}

// digitsOf takes the prefix of the base off and reports whether the rest are digits of it
// behind at most one sign.
func digitsOf(s string, base int) (string, bool) {
	sign, rest := "", s
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[:1], rest[1:]
	}
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" && len(rest) > 2 && strings.EqualFold(rest[:2], prefix) {
		rest = rest[2:]
	}
	for i := range len(rest) {
		if d := strings.IndexByte("0123456789abcdef", rest[i]|0x20); d < 0 || d >= base || rest[i] < '0' {
			return "", false
		}
	}
	return sign + rest, rest != ""
}

// isDecimal reports whether a text is a decimal number, perhaps with a fraction and an
// exponent.
func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exponent := s[i+1:]
		if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
			exponent = exponent[1:]
		}
		if exponent == "" || strings.Trim(exponent, "0123456789") != "" {
			return false
		}
		s = s[:i]
	}
	before, after, _ := strings.Cut(s, ".")
	return before+after != "" && strings.Trim(before+after, "0123456789") == ""
}
