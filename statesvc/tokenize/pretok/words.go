package pretok

// words cuts as the expressions of Llama 3, Qwen and o200k do. They differ in the
// numbers taken together and in o200k's care for case.
type words struct {
	*classes
	digits int
	cased  bool
}

func (w *words) each(s string, yield func(string) bool) bool {
	for i := 0; i < len(s); {
		end := w.next(s, i)
		if !yield(s[i:end]) {
			return false
		}
		i = end
	}
	return true
}

// next gives the end of the piece at i. The order of the tries is the order of the
// expression's alternatives.
func (w *words) next(s string, i int) int {
	k, n := w.at(s, i)
	if w.cased {
		if end := w.casedWord(s, i, k, n); end > i {
			return end
		}
	} else {
		if end := contraction(s, i); end > i {
			return end
		}
		if end := w.word(s, i, k, n); end > i {
			return end
		}
	}
	if k&number != 0 {
		return w.digitsEnd(s, i, w.digits)
	}
	if end := w.symbols(s, i, k, n); end > i {
		return end
	}
	return w.spaces(s, i)
}

// word is [^\r\n\p{L}\p{N}]?\p{L}+ .
func (w *words) word(s string, i int, k class, n int) int {
	start := i
	if k&(letter|number|newline) == 0 {
		start = i + n
	}
	if end := w.run(s, start, letter); end > start {
		return end
	}
	return i
}

// symbols is  ?[^\s\p{L}\p{N}]+[\r\n]* , where o200k also lets a slash follow.
func (w *words) symbols(s string, i int, k class, n int) int {
	start := i
	if s[i] == ' ' {
		start = i + n
	} else if k&(space|letter|number) != 0 {
		return i
	}
	end := start
	for end < len(s) {
		k, n := w.at(s, end)
		if k&(space|letter|number) != 0 {
			break
		}
		end += n
	}
	if end == start {
		return i
	}
	for end < len(s) && (s[end] == '\r' || s[end] == '\n' || w.cased && s[end] == '/') {
		end++
	}
	return end
}

// casedWord is the first two alternatives of o200k, each first with and then without
// the rune that may stand before the word.
func (w *words) casedWord(s string, i int, k class, n int) int {
	lead := k&(letter|number|newline) == 0
	if lead {
		if end := w.lowerEnd(s, i+n); end > 0 {
			return contraction(s, end)
		}
	}
	if end := w.lowerEnd(s, i); end > 0 {
		return contraction(s, end)
	}
	if lead {
		if end := w.run(s, i+n, upperLike); end > i+n {
			return contraction(s, end)
		}
	}
	return contraction(s, w.run(s, i, upperLike))
}

// lowerEnd is the end of [upperLike]*[lowerLike]+ at i, or 0. The first class takes
// what it can and gives back what the second needs: then the second gets one rune,
// since what follows it in the run is upper case only.
func (w *words) lowerEnd(s string, i int) int {
	end, both := i, 0
	for end < len(s) {
		k, n := w.at(s, end)
		if k&upperLike == 0 {
			break
		}
		end += n
		if k&lowerLike != 0 {
			both = end
		}
	}
	if lower := w.run(s, end, lowerLike); lower > end {
		return lower
	}
	return both
}
