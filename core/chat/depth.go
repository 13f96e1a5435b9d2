package chat

import "strings"

// maxDepth bounds how deep a validated body may nest. Validation recurses, and
// in a wasm host the stack is the host's: Envoy 1.40.0 fails the whole VM
// somewhere between 4,000 and 8,000 levels. Real requests stay far below.
const maxDepth = 512

// tooDeep reports whether arrays and objects nest deeper than maxDepth. It does
// not recurse. For text that is not JSON the answer holds up to the first error.
func tooDeep(body string) bool {
	if !moreThan(maxDepth, body) {
		return false
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = closingQuote(body, i+1)
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// moreThan reports whether a text has more than n opening brackets. Few bodies
// do, and finding single bytes is much faster than walking all of them.
func moreThan(n int, body string) bool {
	for _, bracket := range [...]byte{'{', '['} {
		for rest := body; ; n-- {
			at := strings.IndexByte(rest, bracket)
			if at < 0 {
				break
			}
			if n == 0 {
				return true
			}
			rest = rest[at+1:]
		}
	}
	return false
}

// closingQuote finds the end of the string whose first character is at i.
func closingQuote(body string, i int) int {
	for ; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(body)
}
