package pretok

import (
	"slices"
	"strings"
)

// Splitter cuts text into pieces.
type Splitter struct {
	name string
	cut  cutter
}

// cutter cuts a text whose end is an end of input for the expressions. It stops and
// reports false when yield does.
type cutter interface {
	each(s string, yield func(piece string) bool) bool
	known(s string) bool
}

// Known reports whether it is certain how the text is cut: it has no character that
// this package's tables, those of Unicode 15, have no class for. Engines may have newer
// tables.
func (s *Splitter) Known(text string) bool { return s.cut.known(text) }

// Name says which family's cuts these are.
func (s *Splitter) Name() string { return s.name }

// Each calls yield with each piece of text in order, without gaps, until yield
// returns false. Pieces are parts of text and never empty.
func (s *Splitter) Each(text string, yield func(piece string) bool) { s.cut.each(text, yield) }

// The expressions of the families, as their tokenizer.json files have them.
const (
	patternQwen  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternLlama = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternO200k = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternDigits = `\p{N}{1,3}`
	patternCJK    = "[一-龥\u3040-ゟ゠-ヿ]+"
	patternWords  = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// Find gives the splitter of the expressions, which are applied one after the other
// to what the one before left, each match and each gap a piece of its own. It is nil
// when the expressions are not those of a known family.
func Find(patterns []string) *Splitter {
	switch {
	case slices.Equal(patterns, []string{patternQwen}):
		return &Splitter{"qwen", &words{classes: newClasses(), digits: 1}}
	case slices.Equal(patterns, []string{patternLlama}):
		return &Splitter{"llama3", &words{classes: newClasses(), digits: 3}}
	case slices.Equal(patterns, []string{patternO200k}):
		return &Splitter{"o200k", &words{classes: newClasses(), digits: 3, cased: true}}
	case slices.Equal(patterns, []string{patternDigits, patternCJK, patternWords}):
		return &Splitter{"deepseek", &deepseek{newClasses()}}
	}
	return nil
}

// contraction gives the end of an English contraction at s[i:], or i. It ignores
// case; the long s folds to s.
func contraction(s string, i int) int {
	if i >= len(s) || s[i] != '\'' {
		return i
	}
	rest := s[i+1:]
	for _, two := range [...]string{"re", "ve", "ll"} {
		if len(rest) >= 2 && strings.EqualFold(rest[:2], two) {
			return i + 3
		}
	}
	if rest == "" {
		return i
	}
	switch rest[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if strings.HasPrefix(rest, "ſ") {
		return i + 1 + len("ſ")
	}
	return i
}

// digitsEnd gives the end of a run of at most limit numbers from i.
func (c *classes) digitsEnd(s string, i, limit int) int {
	for ; limit > 0 && i < len(s); limit-- {
		k, n := c.at(s, i)
		if k&number == 0 {
			break
		}
		i += n
	}
	return i
}

// spaces gives the end of the piece that begins with the white space at s[i:]:
// \s*[\r\n]+|\s+(?!\S)|\s+ . A run that has a line end is cut after its last one; a
// run before other text leaves its last rune to that text.
func (c *classes) spaces(s string, i int) int {
	end, lastLine, lastRune := i, -1, i
	for end < len(s) {
		k, n := c.at(s, end)
		if k&space == 0 {
			break
		}
		lastRune = end
		end += n
		if k&newline != 0 {
			lastLine = end
		}
	}
	switch {
	case lastLine >= 0:
		return lastLine
	case end == len(s) || lastRune == i:
		return end
	}
	return lastRune
}
