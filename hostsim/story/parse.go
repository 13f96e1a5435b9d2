package story

import "strings"

const dashes = "----"

// Parse reads a story. The name stands in errors, which are of type *Error; the
// first mistake ends the reading.
func Parse(name, text string) (*File, error) {
	f := &File{Name: name}
	p := parser{file: f, lines: strings.SplitAfter(text, "\n")}
	for {
		more, err := p.step()
		if err != nil {
			return nil, err
		}
		if !more {
			return f, nil
		}
	}
}

// parser walks the lines of a story. Lines keep their line breaks, so that text
// taken from them is what stood there.
type parser struct {
	file  *File
	lines []string
	next  int // index of the next line
	begun int // where the present step's source begins
}

// line gives the next line without its break, false at the end.
func (p *parser) line() (string, bool) {
	if p.next >= len(p.lines) || p.lines[p.next] == "" {
		return "", false
	}
	return strings.TrimRight(p.lines[p.next], "\r\n"), true
}

func (p *parser) since(from int) string { return strings.Join(p.lines[from:p.next], "") }

// step reads one step, false when there is none left.
func (p *parser) step() (more bool, err error) {
	p.begun = p.next
	command := p.skip()
	if command == "" {
		p.file.tail = p.since(p.begun)
		return false, nil
	}
	step := Step{Line: p.next + 1}
	if command, err = p.join(command); err != nil {
		return false, err
	}
	if command == dashes {
		return false, p.file.fault(step.Line, "%s without a command above it; write one, like \"request r1 model=m\"", dashes)
	}
	if step.Verb, step.Args, err = p.words(step.Line, command); err != nil {
		return false, err
	}
	if err := p.input(&step); err != nil {
		return false, err
	}
	if err := p.want(&step); err != nil {
		return false, err
	}
	p.file.Steps = append(p.file.Steps, step)
	return true, nil
}

// skip passes over comments and blank lines and gives the command that follows,
// empty at the end.
func (p *parser) skip() string {
	for line, ok := p.line(); ok; line, ok = p.line() {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			return text
		}
		p.next++
	}
	return ""
}

// join takes a command over, with the lines that a backslash at the end joins to it.
func (p *parser) join(command string) (string, error) {
	first := p.next + 1
	p.next++
	for strings.HasSuffix(command, "\\") {
		line, ok := p.line()
		if !ok {
			return "", p.file.fault(first, "the command goes on after a backslash, but the file ends; drop the backslash")
		}
		command = strings.TrimSuffix(command, "\\") + " " + strings.TrimSpace(line)
		p.next++
	}
	return strings.TrimSpace(command), nil
}

// input reads up to the dashes.
func (p *parser) input(step *Step) error {
	begin := p.next
	for line, ok := p.line(); ok; line, ok = p.line() {
		if strings.TrimSpace(line) == dashes {
			step.Input = p.since(begin)
			p.next++
			step.source = p.since(p.begun)
			if !strings.HasSuffix(step.source, "\n") {
				step.source += "\n"
			}
			return nil
		}
		p.next++
	}
	return p.file.fault(step.Line, "%q has no line %q after it; write one, with the expected output below it", step.Verb, dashes)
}

// want reads the expected output: up to a blank line, or between two pairs of
// dashes.
func (p *parser) want(step *Step) error {
	begin := p.next
	if line, ok := p.line(); ok && line == dashes {
		return p.wantVerbatim(step)
	}
	for line, ok := p.line(); ok && strings.TrimSpace(line) != ""; line, ok = p.line() {
		p.next++
	}
	step.Want = p.since(begin)
	if step.Want != "" && !strings.HasSuffix(step.Want, "\n") {
		step.Want += "\n"
	}
	return nil
}

func (p *parser) wantVerbatim(step *Step) error {
	p.next++
	begin := p.next
	for line, ok := p.line(); ok; line, ok = p.line() {
		p.next++
		if after, ok := p.line(); line == dashes && ok && after == dashes {
			step.Want = strings.Join(p.lines[begin:p.next-1], "")
			p.next++
			return nil
		}
	}
	return p.file.fault(step.Line, "the output of %q begins with two lines %q and must end with two", step.Verb, dashes)
}

// words splits a command.
func (p *parser) words(line int, command string) (verb string, args []Arg, err error) {
	verb, rest, _ := strings.Cut(command, " ")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		var arg Arg
		if arg, rest, err = p.word(line, rest); err != nil {
			return "", nil, err
		}
		args = append(args, arg)
	}
	return verb, args, nil
}

// word takes one argument off the front of a command.
func (p *parser) word(line int, text string) (arg Arg, rest string, err error) {
	end := strings.IndexAny(text, " \t=")
	if end < 0 {
		return Arg{Name: text}, "", nil
	}
	arg.Name = text[:end]
	if arg.Name == "" {
		return arg, "", p.file.fault(line, "an argument begins with \"=\"; write name=value without blanks")
	}
	if text[end] != '=' {
		return arg, text[end:], nil
	}
	text = text[end+1:]
	if !strings.HasPrefix(text, "(") {
		end = strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		arg.Values = []string{text[:end]}
		return arg, text[end:], nil
	}
	end = strings.IndexByte(text, ')')
	if end < 0 {
		return arg, "", p.file.fault(line, "%s=( has no closing bracket; write %s=(a,b)", arg.Name, arg.Name)
	}
	for value := range strings.SplitSeq(text[1:end], ",") {
		arg.Values = append(arg.Values, strings.TrimSpace(value))
	}
	return arg, text[end+1:], nil
}
