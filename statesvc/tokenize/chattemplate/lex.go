package chattemplate

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenString
	tokenInt
	tokenFloat
	tokenSign
)

type token struct {
	kind tokenKind
	text string
}

// tag is a piece of a template: literal text, an expression or a statement.
type tag struct {
	kind   byte // 't' text, '{' expression, '%' statement
	text   string
	tokens []token
	line   int
}

// lexer cuts a template into tags by the rules of Jinja's lexer with trim_blocks and
// lstrip_blocks.
type lexer struct {
	src  string
	pos  int
	tags []tag
	// lineStart says that what follows stands at the start of a line.
	lineStart bool
	// lines are the line ends before counted.
	lines, counted int
}

// lex cuts a whole template.
func lex(src string) ([]tag, error) {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(src, "\n"), lineStart: true}
	for l.pos < len(l.src) {
		begin := l.nextTag()
		body := l.src[l.pos:begin]
		if begin == len(l.src) {
			l.add(tag{kind: 't', text: body})
			break
		}
		kind := l.src[begin+1]
		l.pos = begin + 2
		l.add(tag{kind: 't', text: l.stripBefore(body, kind)})
		if err := l.tag(kind); err != nil {
			return nil, err
		}
	}
	return l.tags, nil
}

func (l *lexer) add(t tag) {
	if t.kind == 't' && t.text == "" {
		return
	}
	l.lines += strings.Count(l.src[l.counted:l.pos], "\n")
	l.counted = l.pos
	t.line = 1 + l.lines
	l.tags = append(l.tags, t)
}

func (l *lexer) nextTag() int {
	for i := l.pos; ; i++ {
		n := strings.IndexByte(l.src[i:], '{')
		if n < 0 || i+n+1 >= len(l.src) {
			return len(l.src)
		}
		i += n
		if c := l.src[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// stripBefore takes white space off the text before a tag: all of it if the tag begins
// with a minus, else the indentation of a statement or comment that begins its line.
func (l *lexer) stripBefore(body string, kind byte) string {
	if l.pos < len(l.src) && (l.src[l.pos] == '-' || l.src[l.pos] == '+') {
		l.pos++
		if l.src[l.pos-1] == '-' {
			return strings.TrimRightFunc(body, isSpace)
		}
		return body
	}
	at := strings.LastIndexByte(body, '\n') + 1
	if kind != '{' && (at > 0 || l.lineStart) && strings.TrimLeftFunc(body[at:], isSpace) == "" {
		return body[:at]
	}
	return body
}

// tag reads a tag up to and with its end.
func (l *lexer) tag(kind byte) error {
	l.lineStart = false
	if kind == '#' {
		return l.comment()
	}
	t := tag{kind: kind}
	for depth := 0; ; {
		l.skipSpace()
		if depth == 0 && l.closes(kind) {
			sign := l.src[l.pos]
			l.pos += 2
			if sign == '-' || sign == '+' {
				l.pos++
			}
			l.add(t)
			l.stripAfter(sign == '-', kind == '%' && sign == '%')
			return nil
		}
		next, err := l.token()
		if err != nil {
			return err
		}
		if next.kind == tokenSign {
			switch next.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		}
		t.tokens = append(t.tokens, next)
	}
}

// closes reports whether a tag ends here, perhaps with a sign before its end.
func (l *lexer) closes(kind byte) bool {
	rest, closer := l.src[l.pos:], "}}"
	if kind == '%' {
		closer = "%}"
	}
	if rest != "" && (rest[0] == '-' || rest[0] == '+' && kind == '%') {
		rest = rest[1:]
	}
	return strings.HasPrefix(rest, closer)
}

// comment passes over a comment.
func (l *lexer) comment() error {
	n := strings.Index(l.src[l.pos:], "#}")
	if n < 0 {
		return unsupported("a comment without an end")
	}
	strip := n > 0 && l.src[l.pos+n-1] == '-'
	l.pos += n + 2
	l.stripAfter(strip, true)
	return nil
}

// stripAfter takes white space after a tag: all of it, or one line end.
func (l *lexer) stripAfter(all, line bool) {
	switch {
	case all:
		n := len(l.src[l.pos:]) - len(strings.TrimLeftFunc(l.src[l.pos:], isSpace))
		l.pos += n
	case line && strings.HasPrefix(l.src[l.pos:], "\n"):
		l.pos++
	default:
		return
	}
	l.lineStart = l.src[l.pos-1] == '\n'
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.src) && strings.IndexByte(" \t\n\v\f", l.src[l.pos]) >= 0 {
		l.pos++
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

func (l *lexer) token() (token, error) {
	rest := l.src[l.pos:]
	if rest == "" {
		return token{}, unsupported("a tag without an end")
	}
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		return l.str(c)
	case c >= '0' && c <= '9':
		return l.number()
	case isNameByte(c):
		n := 1
		for n < len(rest) && isNameByte(rest[n]) {
			n++
		}
		l.pos += n
		return token{tokenName, rest[:n]}, nil
	}
	for _, sign := range [...]string{"==", "!=", "<=", ">=", "//", "**"} {
		if strings.HasPrefix(rest, sign) {
			l.pos += 2
			return token{tokenSign, sign}, nil
		}
	}
	if strings.IndexByte("+-*/%~<>=()[]{}.,:|", rest[0]) < 0 {
		r, _ := utf8.DecodeRuneInString(rest)
		return token{}, unsupported("the sign %q", r)
	}
	l.pos++
	return token{tokenSign, rest[:1]}, nil
}

func (l *lexer) number() (token, error) {
	rest, n, kind := l.src[l.pos:], 0, tokenInt
	digits := func() {
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
	}
	digits()
	if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
		n++
		digits()
		kind = tokenFloat
	}
	if n < len(rest) && isNameByte(rest[n]) {
		return token{}, unsupported("the number %.20q", rest)
	}
	l.pos += n
	return token{kind, rest[:n]}, nil
}

// str reads a string with the escapes that Python and Go have in common.
func (l *lexer) str(quote byte) (token, error) {
	var b strings.Builder
	for i := l.pos + 1; i < len(l.src); i++ {
		switch c := l.src[i]; c {
		case quote:
			l.pos = i + 1
			return token{tokenString, b.String()}, nil
		case '\\':
			r, _, tail, err := strconv.UnquoteChar(l.src[i:], 0)
			if i+1 < len(l.src) && (l.src[i+1] == '\'' || l.src[i+1] == '"') {
				r, tail, err = rune(l.src[i+1]), l.src[i+2:], nil
			}
			if err != nil {
				return token{}, unsupported("the escape %.6q in a string", l.src[i:])
			}
			b.WriteRune(r)
			i = len(l.src) - len(tail) - 1
		default:
			b.WriteByte(c)
		}
	}
	return token{}, unsupported("a string without an end")
}
