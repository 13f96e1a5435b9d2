package chattemplate

func (p *exprParser) postfix(e expr) expr {
	for p.pos < len(p.tokens) {
		switch {
		case p.sign("."):
			e = p.member(e)
		case p.sign("["):
			e = p.subscript(e)
		case p.sign("("):
			e = p.call(e)
		default:
			return e
		}
	}
	return e
}

func (p *exprParser) member(of expr) expr {
	t := p.peek()
	if t.kind != tokenName {
		p.fail("a name is expected after the dot, not %q", t.text)
		return of
	}
	p.pos++
	if p.sign("(") {
		if !isMethod(t.text) {
			p.fail("the method %s is not done", t.text)
		}
		args, named := p.args()
		if len(named) > 0 {
			p.fail("named arguments of %s are not done", t.text)
		}
		return &methodCall{of, t.text, args}
	}
	if isPythonMethod(t.text) {
		p.fail("the method %s is taken for a value", t.text)
	}
	return &attr{of, t.text}
}

func (p *exprParser) subscript(of expr) expr {
	s := &part{of: of}
	if !p.sign(":") {
		key := p.expression()
		if p.sign("]") {
			return &item{of, key}
		}
		s.start = key
		p.expect(":")
	}
	if t := p.peek(); t.text != ":" && t.text != "]" {
		s.stop = p.expression()
	}
	if p.sign(":") && p.peek().text != "]" {
		s.step = p.expression()
	}
	p.expect("]")
	return s
}

func (p *exprParser) call(of expr) expr {
	n, ok := of.(*name)
	if !ok {
		p.fail("a call of something that is no name is not done")
		return of
	}
	args, named := p.args()
	p.called(n.name)
	return &call{n.name, args, named}
}

func (p *exprParser) args() (args []expr, named []namedArg) {
	for p.pos < len(p.tokens) && !p.sign(")") {
		if t := p.peek(); t.kind == tokenName && p.pos+1 < len(p.tokens) && p.tokens[p.pos+1] == (token{tokenSign, "="}) {
			p.pos += 2
			named = append(named, namedArg{t.text, p.expression()})
		} else {
			args = append(args, p.expression())
		}
		if !p.sign(",") {
			p.expect(")")
			break
		}
	}
	return args, named
}

func (p *exprParser) filter(of expr) expr {
	f := &filter{of: of, name: p.peek().text}
	if p.peek().kind != tokenName || !isFilter(f.name) {
		p.fail("the filter %q is not done", f.name)
		return f
	}
	p.pos++
	if p.sign("(") {
		f.args, f.named = p.args()
	}
	if f.name == "map" {
		p.checkMap(f)
	}
	return f
}

// checkMap refuses a filter that map cannot use where the template names it.
func (p *exprParser) checkMap(f *filter) {
	if len(f.args) == 0 {
		return
	}
	if by, ok := f.args[0].(*literal); ok {
		if n, ok := by.value.(string); !ok || !isMapped(n) {
			p.fail("map by %v is not done", by.value)
		}
	}
}

func (p *exprParser) test(of expr) expr {
	t := &test{of: of, negated: p.word("not"), name: p.peek().text}
	if !isTest(t.name) {
		p.fail("the test %q is not done", t.name)
		return t
	}
	p.pos++
	takes := t.name == "eq" || t.name == "equalto" || t.name == "in"
	if takes {
		p.expect("(")
		t.arg = p.expression()
		p.expect(")")
	}
	return t
}
