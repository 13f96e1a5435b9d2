package chattemplate

import (
	"fmt"
	"strings"
)

// MaxSource is the largest template, in bytes; the largest in use have about 30 KB.
const MaxSource = 256 << 10

// maxProblems bounds what one refusal tells.
const maxProblems = 20

// CompileError says everything in a template that this package does not do.
type CompileError struct{ Problems []string }

// Error joins the problems.
func (e *CompileError) Error() string {
	return "chat template cannot be rendered here: " + strings.Join(e.Problems, "; ")
}

// Template is a compiled chat template.
type Template struct {
	nodes []node
	// source is kept to tell which arguments the template can read.
	names map[string]bool
}

// Mentions reports whether the template reads a name, such as an argument that a
// request can set.
func (t *Template) Mentions(name string) bool { return t.names[name] }

// Compile parses a template. The error is a *CompileError.
func Compile(source string) (*Template, error) {
	if len(source) > MaxSource {
		return nil, &CompileError{[]string{"it is larger than 256 KiB"}}
	}
	tags, err := lex(source)
	if err != nil {
		return nil, &CompileError{[]string{err.Error()}}
	}
	c := &compiler{tags: tags, names: map[string]bool{}, macros: map[string]bool{}}
	nodes := c.body(0)
	if c.pos < len(c.tags) {
		c.problem("%q has no beginning", c.keyword())
	}
	c.checkCalls()
	if len(c.problems) > 0 {
		return nil, &CompileError{c.problems}
	}
	return &Template{nodes, c.names}, nil
}

// compiler turns tags into nodes and collects problems.
type compiler struct {
	tags     []tag
	pos      int
	problems []string
	names    map[string]bool
	macros   map[string]bool
	calls    []string
}

func (c *compiler) problem(format string, args ...any) {
	if len(c.problems) >= maxProblems {
		return
	}
	line := 0
	if i := min(max(c.pos-1, 0), len(c.tags)-1); i >= 0 {
		line = c.tags[i].line
	}
	c.problems = append(c.problems, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// keyword is the first word of the statement at hand, or empty.
func (c *compiler) keyword() string {
	if c.pos >= len(c.tags) {
		return ""
	}
	if t := c.tags[c.pos]; t.kind == '%' && len(t.tokens) > 0 {
		return t.tokens[0].text
	}
	return ""
}

// take gives a parser for the tag at hand, after its keyword if it is a statement.
func (c *compiler) take() *exprParser {
	t := c.tags[c.pos]
	c.pos++
	for _, tok := range t.tokens {
		if tok.kind == tokenName {
			c.names[tok.text] = true
		}
		if tok.kind == tokenString {
			c.names[tok.text] = true // messages['name'] and the like
		}
	}
	if t.kind == '%' {
		return &exprParser{compiler: c, tokens: t.tokens[1:]}
	}
	return &exprParser{compiler: c, tokens: t.tokens}
}

func (c *compiler) called(name string) { c.calls = append(c.calls, name) }

// checkCalls refuses calls of what is neither a function nor a macro.
func (c *compiler) checkCalls() {
	for _, n := range c.calls {
		if !isFunction(n) && !c.macros[n] {
			c.problem("the function %s is not done", n)
		}
	}
}

// body compiles statements up to one that ends or divides a block.
func (c *compiler) body(depth int) (nodes []node) {
	if depth > maxNesting {
		c.problem("statements nest deeper than %d", maxNesting)
		c.pos = len(c.tags)
	}
	for c.pos < len(c.tags) {
		switch t := c.tags[c.pos]; t.kind {
		case 't':
			c.pos++
			nodes = append(nodes, &textNode{t.text})
		case '{':
			p := c.take()
			nodes = append(nodes, &outputNode{p.expression()})
			p.end()
		default:
			switch c.keyword() {
			case "elif", "else", "endif", "endfor", "endset", "endmacro", "endgeneration":
				return nodes
			}
			nodes = append(nodes, c.statement(depth+1)...)
		}
	}
	return nodes
}

func (c *compiler) statement(depth int) []node {
	switch word := c.keyword(); word {
	case "if":
		return []node{c.ifStatement(depth)}
	case "for":
		return []node{c.forStatement(depth)}
	case "set":
		return []node{c.setStatement(depth)}
	case "macro":
		return []node{c.macroStatement(depth)}
	case "break", "continue":
		c.take().end()
		return []node{&jumpNode{word == "break"}}
	case "generation": // marks what a model said, renders nothing
		c.take().end()
		nodes := c.body(depth)
		c.close("endgeneration")
		return nodes
	default:
		c.problem("the statement %q is not done", word)
		c.pos++
		return nil
	}
}

// close wants the end of a block.
func (c *compiler) close(word string) {
	if c.keyword() != word {
		c.problem("%q is missing", word)
		return
	}
	c.take().end()
}

func (c *compiler) ifStatement(depth int) node {
	n := &ifNode{}
	for {
		p := c.take()
		condition := p.expression()
		p.end()
		n.branches = append(n.branches, branch{condition, c.body(depth)})
		if c.keyword() != "elif" {
			break
		}
	}
	if c.keyword() == "else" {
		c.take().end()
		n.branches = append(n.branches, branch{nil, c.body(depth)})
	}
	c.close("endif")
	return n
}

func (c *compiler) forStatement(depth int) node {
	p, n := c.take(), &forNode{}
	for {
		if p.peek().kind != tokenName {
			p.fail("a name is expected after for, not %q", p.peek().text)
			break
		}
		n.vars = append(n.vars, p.peek().text)
		p.pos++
		if !p.sign(",") {
			break
		}
	}
	if !p.word("in") {
		p.fail("in is expected, not %q", p.peek().text)
	}
	n.over = p.or()
	if p.word("if") {
		n.condition = p.expression()
	}
	p.end()
	n.body = c.body(depth)
	if c.keyword() == "else" {
		c.take().end()
		n.otherwise = c.body(depth)
	}
	c.close("endfor")
	return n
}

func (c *compiler) setStatement(depth int) node {
	p, n := c.take(), &setNode{}
	n.target = p.peek().text
	if p.peek().kind != tokenName {
		p.fail("a name is expected after set, not %q", n.target)
		return n
	}
	p.pos++
	if p.sign(".") {
		n.member = p.peek().text
		p.pos++
	}
	if p.sign("=") {
		n.value = p.expression()
		p.end()
		return n
	}
	p.end()
	n.body = c.body(depth)
	c.close("endset")
	return n
}

func (c *compiler) macroStatement(depth int) node {
	p, n := c.take(), &macroNode{}
	n.name = p.peek().text
	c.macros[n.name] = true
	if depth > 1 {
		p.fail("a macro inside another statement is not done")
	}
	p.pos++
	p.expect("(")
	for p.pos < len(p.tokens) && !p.sign(")") {
		n.params = append(n.params, p.peek().text)
		p.pos++
		var byDefault expr
		if p.sign("=") {
			byDefault = p.expression()
		}
		n.defaults = append(n.defaults, byDefault)
		if !p.sign(",") {
			p.expect(")")
			break
		}
	}
	p.end()
	n.body = c.body(depth)
	c.close("endmacro")
	return n
}
