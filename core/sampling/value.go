package sampling

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Kind says what a body has for a field.
type Kind uint8

// The kinds. The zero value is a field that is absent, or null, which is the same.
const (
	Absent Kind = iota
	Number
	Unreadable // no number, or one outside of float64
)

// Value is what a body has for one field.
type Value struct {
	Kind   Kind
	Number float64 // of Kind Number
}

// Values are what a body has for all fields. Of a key that stands twice the last
// value counts, so that a null takes back what stood before it.
type Values [FieldCount]Value

// Note reads a member of a body if it is a field, and reports whether it is.
func (vs *Values) Note(key, raw string) bool {
	f, ok := FieldOf(key)
	if ok {
		vs[f] = Read(raw)
	}
	return ok
}

// maxText bounds a number that is written as a string, in bytes
// (engine-selection.md 12.6).
const maxText = 64

// Read reads the JSON text of a value, which must be valid. Booleans are one and
// zero, and strings that hold a number are that number, as engines take them.
func Read(raw string) Value {
	if raw == "" {
		return Value{}
	}
	switch raw[0] {
	case 'n':
		return Value{}
	case 't':
		return Value{Number, 1}
	case 'f':
		return Value{Number, 0}
	case '"':
		return readText(raw)
	case '{', '[':
		return Value{Kind: Unreadable}
	}
	return parse(raw)
}

func parse(number string) Value {
	if x, ok := shortDecimal(number); ok {
		return Value{Number, x}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return Value{Kind: Unreadable}
	}
	return Value{Number, x}
}

// shortDecimal reads digits with a point among them or none, as ParseFloat does:
// as many digits as a float64 holds exactly, divided by a power of ten that it
// holds exactly too, are rounded once. Most parameters are written so, and the
// library takes ten times as much code for it, which is what costs in a filter.
func shortDecimal(number string) (x float64, ok bool) {
	const most = 15 // digits
	if len(number) > most {
		return 0, false
	}
	digits, scale, point := uint64(0), 1.0, false
	for _, c := range []byte(number) {
		switch {
		case c >= '0' && c <= '9':
			digits, ok = 10*digits+uint64(c-'0'), true
			if point {
				scale *= 10
			}
		case c == '.' && !point:
			point = true
		default:
			return 0, false
		}
	}
	return float64(digits) / scale, ok
}

func readText(raw string) Value {
	const longestEscape = len(`\u0030`)
	text := raw[1 : len(raw)-1]
	if strings.IndexByte(text, '\\') >= 0 {
		if len(text) > longestEscape*maxText || json.Unmarshal([]byte(raw), &text) != nil {
			return Value{Kind: Unreadable}
		}
	}
	if len(text) > maxText {
		return Value{Kind: Unreadable}
	}
	text, ok := plainNumber(strings.Trim(text, " \t\n\r\v\f"))
	if !ok {
		return Value{Kind: Unreadable}
	}
	return parse(text)
}

// plainNumber takes the underscores between digits out of a decimal number. Words
// such as "inf" and numbers of another base are no numbers here.
func plainNumber(text string) (string, bool) {
	if strings.Trim(text, "+-.0123456789eE_") != "" {
		return "", false
	}
	if strings.IndexByte(text, '_') < 0 {
		return text, true
	}
	for i := range len(text) {
		if text[i] == '_' && (!digitAt(text, i-1) || !digitAt(text, i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

func digitAt(text string, i int) bool {
	return i >= 0 && i < len(text) && text[i]-'0' <= 9
}
