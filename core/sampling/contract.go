package sampling

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Rule is what a contract says about one field. The zero value says nothing.
type Rule struct {
	Kind     RuleKind
	Min, Max float64 // both the fixed value, or the ends of the band, inclusive
}

// RuleKind is how a field is governed.
type RuleKind uint8

// The kinds of rules.
const (
	Free  RuleKind = iota
	Fixed          // one value, which requests that leave the field out are given
	Band           // a range for the values that requests bring
)

// Fix makes the rule of one value.
func Fix(x float64) Rule { return Rule{Fixed, x, x} }

// Between makes the rule of a band.
func Between(low, high float64) Rule { return Rule{Band, low, high} }

// Rules are the rules for all fields.
type Rules [FieldCount]Rule

// Contract is the rules of one model, ready for requests.
type Contract struct {
	rules   Rules
	lenient bool
	texts   [FieldCount]string // members that give the fixed values
}

// Errors of New; each is wrapped with the field's name.
var (
	ErrDomain    = errors.New("the value lies outside of the field's domain")
	ErrBackwards = errors.New("the band ends below its start")
	ErrIdle      = errors.New("a band has no effect where other values are allowed")
)

// New makes a contract. With allow, values other than the fixed one pass, and
// bands are refused, since they would have no effect.
func New(rules Rules, allow bool) (*Contract, error) {
	c := &Contract{rules: rules, lenient: allow}
	for f := range FieldCount {
		if err := Check(f, rules[f], allow); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if rules[f].Kind == Fixed {
			c.texts[f] = strconv.Quote(f.String()) + ":" + format(rules[f].Min)
		}
	}
	return c, nil
}

// Check says what is wrong with a rule, nil when nothing is.
func Check(f Field, r Rule, allow bool) error {
	switch {
	case r.Kind == Free:
		return nil
	case !f.Allows(r.Min) || !f.Allows(r.Max):
		return ErrDomain
	case r.Min > r.Max:
		return ErrBackwards
	case r.Kind == Band && allow:
		return ErrIdle
	}
	return nil
}

// format writes whole numbers without an exponent, since engines want a whole
// number for some fields.
func format(x float64) string {
	const exact = 1 << 53
	if x == math.Trunc(x) && math.Abs(x) < exact {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Violated gives the fields whose values break the contract. A value that cannot
// be read breaks it like a different one.
func (c *Contract) Violated(values *Values) (broken Set) {
	if c.lenient {
		return 0
	}
	for f := range FieldCount {
		v, r := values[f], c.rules[f]
		if v.Kind == Absent || r.Kind == Free {
			continue
		}
		if v.Kind == Unreadable || v.Number < r.Min || v.Number > r.Max {
			broken |= Of(f)
		}
	}
	return broken
}

// Missing gives the members for the fixed fields that a body leaves out, with
// commas between them, among those that the body's dialect has. It is empty when
// the body needs none.
func (c *Contract) Missing(values *Values, known Set) string {
	var text []byte
	for f := range FieldCount {
		if _, given := c.Given(f, values, known); !given {
			continue
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = append(text, c.texts[f]...)
	}
	return string(text)
}

// Given is the value that Missing has a body be given for a field, false when it
// is given none.
func (c *Contract) Given(f Field, values *Values, known Set) (float64, bool) {
	if c.texts[f] == "" || values[f].Kind != Absent || !known.Has(f) {
		return 0, false
	}
	return c.rules[f].Min, true
}

// Wants says in words what the contract takes for a field.
func (c *Contract) Wants(f Field) string {
	r := c.rules[f]
	switch r.Kind {
	case Fixed:
		return format(r.Min)
	case Band:
		return "a number from " + format(r.Min) + " to " + format(r.Max)
	case Free:
	}
	return "anything"
}
