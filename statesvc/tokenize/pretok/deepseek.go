package pretok

import "unicode/utf8"

// deepseek cuts as the three expressions of DeepSeek V3: numbers by three, then
// Chinese and Japanese runs, then words within what is left. Each cut is an end of
// input for the next expression.
type deepseek struct {
	*classes
}

func (d *deepseek) each(s string, yield func(string) bool) bool {
	for i := 0; i < len(s); {
		if end := d.digitsEnd(s, i, 3); end > i {
			if !yield(s[i:end]) {
				return false
			}
			i = end
			continue
		}
		end := d.region(s, i)
		if !d.words(s[i:end], yield) {
			return false
		}
		i = end
	}
	return true
}

// region gives the end of the text from i that the first two expressions leave in
// one piece.
func (d *deepseek) region(s string, i int) int {
	first := isCJK(s, i)
	for i < len(s) {
		k, n := d.at(s, i)
		if k&number != 0 || isCJK(s, i) != first {
			break
		}
		i += n
	}
	return i
}

func isCJK(s string, i int) bool {
	if s[i] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return r >= '一' && r <= '龥' || r >= 0x3040 && r <= 0x30FF
}

// words applies the third expression. What it does not match is a piece up to the
// next match.
func (d *deepseek) words(s string, yield func(string) bool) bool {
	gap := 0
	for i := 0; i < len(s); {
		end := d.next(s, i)
		if end == i {
			_, n := d.at(s, i)
			i += n
			continue
		}
		if gap < i && !yield(s[gap:i]) || !yield(s[i:end]) {
			return false
		}
		i, gap = end, end
	}
	return gap == len(s) || yield(s[gap:])
}

// next gives the end of the match at i, or i.
func (d *deepseek) next(s string, i int) int {
	if end := asciiWord(s, i); end > i {
		return end
	}
	k, n := d.at(s, i)
	start := i
	if k&(letter|symbol|newline) == 0 {
		start = i + n
	}
	if end := d.run(s, start, letter|mark); end > start {
		return end
	}
	if k&mark != 0 {
		return i + n
	}
	if end := d.symbols(s, i, n); end > i {
		return end
	}
	if k&space != 0 {
		return d.spaces(s, i)
	}
	return i
}

// asciiWord is an ASCII sign with the ASCII letters that follow it.
func asciiWord(s string, i int) int {
	if c := s[i]; c <= ' ' || c >= 0x7F || isASCIILetter(c) || c >= '0' && c <= '9' {
		return i
	}
	end := i + 1
	for end < len(s) && isASCIILetter(s[end]) {
		end++
	}
	if end == i+1 {
		return i
	}
	return end
}

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// symbols is  ?[\p{P}\p{S}]+[\r\n]* .
func (d *deepseek) symbols(s string, i, n int) int {
	start := i
	if s[i] == ' ' {
		start = i + n
	}
	end := d.run(s, start, symbol)
	if end == start {
		return i
	}
	for end < len(s) && (s[end] == '\r' || s[end] == '\n') {
		end++
	}
	return end
}
