// Package sampling holds a model to sampling parameters that its owner has
// fixed: a request that leaves a governed field out is given the fixed value, one
// that sets another value is refused (engine-selection.md 12.6).
//
// A Contract is made once and only read; everything here is pure.
package sampling

import "math"

// Field is one sampling parameter that can be governed.
type Field uint8

// The fields, in the order in which violations are reported.
const (
	Temperature Field = iota
	TopP
	TopK
	MinP
	RepetitionPenalty
	FrequencyPenalty
	PresencePenalty
	N
	// FieldCount is the number of fields.
	FieldCount
)

// String is the field's key in a request body.
func (f Field) String() string {
	switch f {
	case Temperature:
		return "temperature"
	case TopP:
		return "top_p"
	case TopK:
		return "top_k"
	case MinP:
		return "min_p"
	case RepetitionPenalty:
		return "repetition_penalty"
	case FrequencyPenalty:
		return "frequency_penalty"
	case PresencePenalty:
		return "presence_penalty"
	case N:
		return "n"
	case FieldCount:
	}
	return ""
}

// FieldOf gives the field of a body's key.
func FieldOf(key string) (Field, bool) {
	if key == "" || len(key) > len("repetition_penalty") {
		return FieldCount, false
	}
	for f := range FieldCount {
		if f.String() == key {
			return f, true
		}
	}
	return FieldCount, false
}

// Domain says which values the field can have, for people.
func (f Field) Domain() string {
	switch f {
	case Temperature:
		return "from 0 to 2"
	case TopP:
		return "above 0, to 1"
	case TopK:
		return "a whole number from 1 on, or -1"
	case MinP:
		return "from 0 to 1"
	case RepetitionPenalty:
		return "above 0, to 2"
	case FrequencyPenalty, PresencePenalty:
		return "from -2 to 2"
	case N:
		return "a whole number from 1 to 128"
	case FieldCount:
	}
	return ""
}

// Allows reports whether a value lies in the field's domain (engine-selection.md
// 12.6).
func (f Field) Allows(x float64) bool {
	switch f {
	case Temperature:
		return x >= 0 && x <= 2
	case TopP:
		return x > 0 && x <= 1
	case TopK:
		return x == -1 || (x >= 1 && x == math.Trunc(x) && !math.IsInf(x, 1))
	case MinP:
		return x >= 0 && x <= 1
	case RepetitionPenalty:
		return x > 0 && x <= 2
	case FrequencyPenalty, PresencePenalty:
		return x >= -2 && x <= 2
	case N:
		return x >= 1 && x <= 128 && x == math.Trunc(x)
	case FieldCount:
	}
	return false
}

// Set is a set of fields.
type Set uint8

// Of makes a set.
func Of(fields ...Field) (s Set) {
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// All is the set of every field.
const All = Set(1<<FieldCount - 1)

// Has reports whether the field is in the set.
func (s Set) Has(f Field) bool { return s>>f&1 == 1 }

// First gives the first field of the set, in the order of reports.
func (s Set) First() (Field, bool) {
	for f := range FieldCount {
		if s.Has(f) {
			return f, true
		}
	}
	return FieldCount, false
}
