package chattemplate

import (
	"slices"
	"strconv"
	"strings"
)

// maxNesting bounds how deep expressions and statements nest.
const maxNesting = 64

// exprParser parses the tokens of one tag by the precedences of Jinja.
type exprParser struct {
	*compiler
	tokens []token
	pos    int
	depth  int
}

func (p *exprParser) peek() token {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos]
	}
	return token{}
}

func (p *exprParser) sign(s string) bool {
	if t := p.peek(); t.kind == tokenSign && t.text == s {
		p.pos++
		return true
	}
	return false
}

func (p *exprParser) word(w string) bool {
	if t := p.peek(); t.kind == tokenName && t.text == w {
		p.pos++
		return true
	}
	return false
}

func (p *exprParser) oneOf(signs ...string) (string, bool) {
	if t := p.peek(); t.kind == tokenSign && slices.Contains(signs, t.text) {
		p.pos++
		return t.text, true
	}
	return "", false
}

// expect notes a problem if the next token is not the sign. Parsing goes on; a tag
// with a problem is never rendered.
func (p *exprParser) expect(s string) {
	if !p.sign(s) {
		p.fail("%q is expected, not %q", s, p.peek().text)
	}
}

// fail notes a problem and skips the rest of the tag.
func (p *exprParser) fail(format string, args ...any) {
	if p.pos <= len(p.tokens) {
		p.problem(format, args...)
	}
	p.pos = len(p.tokens) + 1
}

// end wants all tokens to be used.
func (p *exprParser) end() {
	if p.pos < len(p.tokens) {
		p.fail("%q is not expected", p.peek().text)
	}
}

// expression parses with the inline if, which binds least.
func (p *exprParser) expression() expr {
	if p.depth++; p.depth > maxNesting {
		p.fail("an expression nests deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	e := p.or()
	for p.word("if") {
		c := &conditional{then: e, condition: p.or()}
		if p.word("else") {
			c.otherwise = p.expression()
		}
		e = c
	}
	return e
}

func (p *exprParser) or() expr {
	e := p.and()
	for p.word("or") {
		e = &binary{"or", e, p.and()}
	}
	return e
}

func (p *exprParser) and() expr {
	e := p.not()
	for p.word("and") {
		e = &binary{"and", e, p.not()}
	}
	return e
}

func (p *exprParser) not() expr {
	if !p.word("not") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxNesting {
		p.fail("an expression nests deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	return &unary{"not", p.not()}
}

func (p *exprParser) comparison() expr {
	e := p.addition()
	op, ok := p.comparator()
	if !ok {
		return e
	}
	e = &binary{op, e, p.addition()}
	if op, ok := p.comparator(); ok {
		p.fail("a chain of comparisons (%s) is not done", op)
	}
	return e
}

func (p *exprParser) comparator() (string, bool) {
	if op, ok := p.oneOf("==", "!=", "<", ">", "<=", ">="); ok {
		return op, true
	}
	if p.word("in") {
		return "in", true
	}
	if t := p.peek(); t.kind == tokenName && t.text == "not" && p.pos+1 < len(p.tokens) && p.tokens[p.pos+1].text == "in" {
		p.pos += 2
		return "not in", true
	}
	return "", false
}

func (p *exprParser) addition() expr {
	e := p.concatenation()
	for {
		op, ok := p.oneOf("+", "-")
		if !ok {
			return e
		}
		right := p.concatenation()
		if s, ok := e.(*sum); ok && op == "+" {
			s.terms = append(s.terms, right)
		} else if op == "+" {
			e = &sum{[]expr{e, right}}
		} else {
			e = &binary{op, e, right}
		}
	}
}

func (p *exprParser) concatenation() expr {
	e := p.product()
	for p.sign("~") {
		e = &binary{"~", e, p.product()}
	}
	return e
}

func (p *exprParser) product() expr {
	e := p.unary(true)
	for {
		op, ok := p.oneOf("*", "/", "//", "%", "**")
		if !ok {
			return e
		}
		if op == "**" || op == "/" {
			p.fail("the operator %s is not done", op)
		}
		e = &binary{op, e, p.unary(true)}
	}
}

// unary parses a term; filters and tests bind to what stands right before them.
func (p *exprParser) unary(filters bool) expr {
	var e expr
	if op, ok := p.oneOf("-", "+"); ok {
		if p.depth++; p.depth > maxNesting {
			p.fail("an expression nests deeper than %d", maxNesting)
		}
		e = &unary{op, p.unary(false)}
		p.depth--
	} else {
		e = p.postfix(p.primary())
	}
	for filters {
		switch {
		case p.sign("|"):
			e = p.filter(e)
		case p.word("is"):
			e = p.test(e)
		default:
			return e
		}
	}
	return e
}

func (p *exprParser) primary() expr {
	t := p.peek()
	p.pos++
	switch t.kind {
	case tokenName:
		return p.named(t.text)
	case tokenString:
		parts := []string{t.text}
		for p.peek().kind == tokenString {
			parts = append(parts, p.peek().text)
			p.pos++
		}
		return &literal{strings.Join(parts, "")}
	case tokenInt:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			p.fail("the number %.30s is too large", t.text)
		}
		return &literal{n}
	case tokenFloat:
		f, _ := strconv.ParseFloat(t.text, 64)
		return &literal{f}
	case tokenSign:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			return &listOf{p.items("]")}
		case "{":
			return p.dict()
		}
	case tokenEnd:
	}
	p.pos--
	p.fail("an expression is expected, not %q", t.text)
	return &literal{}
}

func (p *exprParser) named(n string) expr {
	switch n {
	case "true", "True":
		return &literal{true}
	case "false", "False":
		return &literal{false}
	case "none", "None":
		return &literal{}
	case "if", "else", "elif", "in", "is", "and", "or", "not", "recursive":
		p.pos--
		p.fail("%q is not expected", n)
	}
	return &name{n}
}

func (p *exprParser) parenthesis() expr {
	if p.sign(")") {
		return &listOf{}
	}
	e := p.expression()
	if p.sign(")") {
		return e
	}
	p.expect(",")
	return &listOf{append([]expr{e}, p.items(")")...)}
}

// items parses expressions with commas between them, up to and with the closing sign.
func (p *exprParser) items(closing string) (items []expr) {
	for p.pos < len(p.tokens) && !p.sign(closing) {
		items = append(items, p.expression())
		if !p.sign(",") {
			p.expect(closing)
			return items
		}
	}
	return items
}

func (p *exprParser) dict() expr {
	d := &dictOf{}
	for p.pos < len(p.tokens) && !p.sign("}") {
		d.keys = append(d.keys, p.expression())
		p.expect(":")
		d.values = append(d.values, p.expression())
		if !p.sign(",") {
			p.expect("}")
			break
		}
	}
	return d
}
