package chat

import (
	"math/bits"
	"strings"
)

// maxDepth bounds how deep a body may nest. Engines parse by recursion, and so do
// other filters; real requests stay far below.
const maxDepth = 512

// fault is why a text is no JSON object that can be read.
type fault uint8

const (
	faultNone fault = iota
	faultSyntax
	faultDepth
)

// scanner walks a JSON text once: it checks the grammar, finds the members of
// the top level and counts base64 "data:" strings on the way. It does not
// recurse and does not allocate. Most of a body is long strings, which it passes
// over eight bytes at a time: in a wasm host a loop over single bytes, such as
// strings.Index is there, costs several times as much.
type scanner struct {
	text    string
	at      int
	depth   int
	objects [maxDepth / 64]uint64 // a bit for each level: object or array
	data    uint64                // bytes of base64 data: strings
	fault   fault
	escaped bool  // the last string has escapes
	ends    *Ends // of the elements of members that are lists; nil when nobody asks
}

// object calls visit with each member of the object that is the whole text: the
// key, its escapes taken out, and the text of the value. It stops when
// visit returns false, and reports whether all of the text was an object.
func (s *scanner) object(visit func(key, value string) bool) bool {
	if s.next() != '{' {
		return s.fail()
	}
	s.at++
	if s.next() == '}' {
		s.at++
		return s.end()
	}
	for {
		key, ok := s.key()
		if !ok {
			return s.fail()
		}
		if s.escaped {
			key = plainKey(key)
		}
		s.space()
		start := s.at
		if s.ends != nil {
			s.ends.begin(start)
		}
		if !s.value() {
			return s.fail()
		}
		if !visit(key, s.text[start:s.at]) {
			return false
		}
		switch s.next() {
		case ',':
			s.at++
		case '}':
			s.at++
			return s.end()
		default:
			return s.fail()
		}
	}
}

func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.text) || s.fail()
}

// fail notes a syntax error unless a fault is noted already. It returns false.
func (s *scanner) fail() bool {
	if s.fault == faultNone {
		s.fault = faultSyntax
	}
	return false
}

// next skips white space and gives the character there, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.text) {
		if c := s.text[s.at]; c > ' ' {
			return c
		}
	}
	return s.nextSpaced()
}

// nextSpaced is next where there may be white space: a call of its own, so that
// next is inlined as little code.
func (s *scanner) nextSpaced() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// key reads a key and its colon, and gives what stands between the quotes.
func (s *scanner) key() (string, bool) {
	if s.next() != '"' {
		return "", false
	}
	start := s.at + 1
	if !s.str() {
		return "", false
	}
	key := s.text[start : s.at-1]
	if s.next() != ':' {
		return "", false
	}
	s.at++
	return key, true
}

// value reads one value of any kind, with all that is in it.
func (s *scanner) value() bool {
	base := s.depth
	for {
		opened, ok := s.begin()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		more, ok := s.rest(base)
		if !ok || !more {
			return ok
		}
	}
}

// begin reads the beginning of a value: a scalar, an empty array or object, or
// the opening of one that is not empty, which makes opened true.
func (s *scanner) begin() (opened, ok bool) {
	switch c := s.next(); c {
	case '{', '[':
		if s.depth >= maxDepth-1 { // the top-level object is a level too
			s.fault = faultDepth
			return false, false
		}
		s.at++
		if s.next() == c+2 { // the closing bracket
			s.at++
			return false, true
		}
		s.push(c == '{')
		if c == '[' {
			return true, true
		}
		_, ok = s.key()
		return true, ok
	case '"':
		return false, s.prose()
	case 't':
		return false, s.literal("true")
	case 'f':
		return false, s.literal("false")
	case 'n':
		return false, s.literal("null")
	}
	return false, s.number()
}

// rest goes on after a value: it closes what is complete down to the base level,
// or stops at the next value, which makes more true.
func (s *scanner) rest(base int) (more, ok bool) {
	for s.depth > base {
		object := s.inObject()
		if s.ends != nil && s.depth == 1 && !object {
			s.ends.note(s.at)
		}
		switch c := s.next(); {
		case c == ',' && object:
			s.at++
			_, ok = s.key()
			return true, ok
		case c == ',':
			s.at++
			return true, true
		case c == '}' && object, c == ']' && !object:
			s.at++
			s.depth--
		default:
			return false, false
		}
	}
	return false, true
}

func (s *scanner) push(object bool) {
	bit := uint64(1) << (s.depth % 64)
	if object {
		s.objects[s.depth/64] |= bit
	} else {
		s.objects[s.depth/64] &^= bit
	}
	s.depth++
}

func (s *scanner) inObject() bool {
	level := s.depth - 1
	return s.objects[level/64]>>(level%64)&1 == 1
}

// prose reads a string value and counts it if it is a base64 data: URL: an image
// or audio that the engine does not read as text. A prompt may begin with
// "data:" as well, such as a pasted event stream, so the URL's head is looked at.
func (s *scanner) prose() bool {
	const head = 128 // media type and parameters
	start := s.at + 1
	if !s.str() {
		return false
	}
	text := s.text[start : s.at-1]
	if strings.HasPrefix(text, "data:") && strings.Contains(text[:min(len(text), head)], ";base64,") {
		s.data += uint64(len(text) - len("data:"))
	}
	return true
}

// str reads a string from its opening quote on.
func (s *scanner) str() bool {
	s.escaped = false
	i := s.at + 1
	for i = plain(s.text, i); i < len(s.text); i = plain(s.text, i) {
		switch s.text[i] {
		case '"':
			s.at = i + 1
			return true
		case '\\':
			n := escape(s.text[i:])
			if n == 0 {
				return false
			}
			i += n
			s.escaped = true
		default:
			return false // a control character
		}
	}
	return false
}

// stride is how many bytes plain looks at together.
const stride = 64

// plain gives the index of the first character from i on that is a quote, a
// backslash or a control character, or the length of the text.
func plain(text string, i int) int {
	for ; i+stride <= len(text); i += stride {
		b := text[i : i+stride]
		first := marks(word(b[:8])) | marks(word(b[8:16])) | marks(word(b[16:24])) | marks(word(b[24:32]))
		if (first|marks(word(b[32:40]))|marks(word(b[40:48]))|marks(word(b[48:56]))|marks(word(b[56:])))&highs != 0 {
			break
		}
	}
	for ; i+8 <= len(text); i += 8 {
		if found := marks(word(text[i:i+8])) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}

// word reads eight bytes, the first as the lowest.
func word(b string) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// highs are the high bits of eight bytes.
const highs = 0x8080808080808080

// marks sets the high bit of bytes that are a quote, a backslash or a control
// character. Marks above the lowest one may be wrong, the lowest is right; other
// bits mean nothing.
//
// A byte below n is one that borrows when n is taken from it, and had no high bit
// before. Turning bit 1 around makes the quote one of the bytes below '!' and
// keeps the control characters there, so that one subtraction finds both.
func marks(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		turn = '"' ^ ' '
	)
	quoteOrControl := (w ^ ones*turn) - ones*'!'
	backslash := (w ^ ones*'\\') - ones
	return (quoteOrControl | backslash) &^ w
}

// escape gives the length of the escape sequence at the beginning of the text, 0
// when it is none.
func escape(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = len(`\u0000`)
		if len(text) < length || strings.Trim(text[2:length], "0123456789abcdefABCDEF") != "" {
			return 0
		}
		return length
	}
	return 0
}

func (s *scanner) literal(word string) bool {
	if !strings.HasPrefix(s.text[s.at:], word) {
		return false
	}
	s.at += len(word)
	return true
}

// number reads a number by JSON's grammar.
func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.peek()|0x20 != 'e' {
		return true
	}
	s.at++
	if c := s.peek(); c == '+' || c == '-' {
		s.at++
	}
	return s.digits()
}

// peek gives the next character as it stands, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// digits moves past one or more digits.
func (s *scanner) digits() bool {
	start := s.at
	for s.peek()-'0' <= 9 {
		s.at++
	}
	return s.at > start
}
