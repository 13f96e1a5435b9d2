package pretok

import (
	"unicode"
	"unicode/utf8"
)

// class is a set of character classes of the expressions.
type class uint16

const (
	letter     class = 1 << iota // \p{L}
	number                       // \p{N}
	space                        // \s: Unicode's White_Space
	newline                      // \r and \n
	symbol                       // \p{P} and \p{S}
	mark                         // \p{M}
	upperLike                    // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lowerLike                    // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	unassigned                   // \p{Cn} of Unicode 15
)

// tableSize covers the two planes where nearly all text is; the others are looked up.
const tableSize = 0x20000

// classes gives a rune's class in one load.
type classes struct {
	table [tableSize]class
}

func newClasses() *classes {
	c := &classes{}
	for r := range rune(tableSize) {
		c.table[r] = classify(r)
	}
	return c
}

// at decodes the rune at s[i:] and classifies it; i must be within s. A byte that is
// no UTF-8 counts as U+FFFD of one byte.
func (c *classes) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return c.table[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r < tableSize {
		return c.table[r], n
	}
	return classify(r), n
}

func classify(r rune) class {
	var c class
	switch {
	case unicode.In(r, unicode.Lu, unicode.Lt):
		c = letter | upperLike
	case unicode.Is(unicode.Ll, r):
		c = letter | lowerLike
	case unicode.In(r, unicode.Lm, unicode.Lo):
		c = letter | upperLike | lowerLike
	case unicode.Is(unicode.M, r):
		c = mark | upperLike | lowerLike
	case unicode.Is(unicode.N, r):
		c = number
	case unicode.In(r, unicode.P, unicode.S):
		c = symbol
	case unicode.Is(unicode.Cn, r):
		c = unassigned
	}
	if unicode.Is(unicode.White_Space, r) {
		c |= space
	}
	if r == '\r' || r == '\n' {
		c |= newline
	}
	return c
}

// known reports whether all runes have a class in Unicode 15.
func (c *classes) known(s string) bool {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		k, n := c.at(s, i)
		if k == unassigned {
			return false
		}
		i += n
	}
	return true
}

// run gives the end of the run of runes that have any of the wanted classes, from i.
func (c *classes) run(s string, i int, want class) int {
	for i < len(s) {
		k, n := c.at(s, i)
		if k&want == 0 {
			break
		}
		i += n
	}
	return i
}
