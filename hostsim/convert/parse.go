package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// UsageError is a command line that cannot be read, every mistake of it.
type UsageError struct{ Mistakes []string }

func (e *UsageError) Error() string { return strings.Join(e.Mistakes, "\n") }

// given is a flag of the command line with its values.
type given struct {
	flag   *Flag
	texts  []string
	count  uint64  // of kindCount
	number float64 // of kindCount and kindNumber
}

// line is a command line that could be read.
type line struct {
	given map[string]*given
	order []string // as written
}

func (l *line) has(name string) bool { return l.given[name] != nil }

// text is the value of a flag, empty without it.
func (l *line) text(name string) string {
	if g := l.given[name]; g != nil && len(g.texts) > 0 {
		return g.texts[0]
	}
	return ""
}

func (l *line) texts(name string) []string {
	if g := l.given[name]; g != nil {
		return g.texts
	}
	return nil
}

// parser reads a command line by the table of flags.
type parser struct {
	known    map[string]*Flag
	names    []string
	line     line
	mistakes []string
}

// parse reads arguments into a line. Its error is a *UsageError.
func parse(args []string) (*line, error) {
	p := parser{known: map[string]*Flag{}, line: line{given: map[string]*given{}}}
	flags := Flags()
	for i := range flags {
		p.known[flags[i].Name] = &flags[i]
		p.names = append(p.names, flags[i].Name)
	}
	for len(args) > 0 {
		args = p.next(args)
	}
	p.required()
	if len(p.mistakes) > 0 {
		return nil, &UsageError{p.mistakes}
	}
	return &p.line, nil
}

func (p *parser) mistake(format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Sprintf(format, args...))
}

// next reads one flag with its values and gives the arguments after it.
func (p *parser) next(args []string) []string {
	name, value, joined := strings.Cut(args[0], "=")
	args = args[1:]
	flag, ok := p.known[name]
	if !ok {
		p.unknown(name)
		return args[values(args, len(args)):] // what follows is likely its value
	}
	var found []string
	switch {
	case flag.kind == kindSwitch && joined:
		p.mistake("%s takes no value, it has %q", name, value)
		return args
	case flag.kind == kindSwitch:
	case joined:
		found = []string{value}
	case flag.kind == kindList:
		n := values(args, len(args))
		found, args = args[:n], args[n:]
	default:
		n := values(args, 1)
		found, args = args[:n], args[n:]
	}
	if flag.kind != kindSwitch && (len(found) == 0 || found[0] == "") {
		p.mistake("%s needs a value: %s %s", name, name, flag.Value)
		return args
	}
	p.add(flag, found)
	return args
}

// values counts the arguments up to the next flag, limit at most.
func values(args []string, limit int) int {
	n := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--") })
	if n < 0 {
		n = len(args)
	}
	return min(n, limit)
}

func (p *parser) unknown(name string) {
	if !strings.HasPrefix(name, "-") {
		p.mistake("%q stands without a flag", name)
		return
	}
	if near, ok := nearest(name, p.names); ok {
		p.mistake("%s is not a flag of sgl-router that is known; did you mean %s?", name, near)
		return
	}
	p.mistake("%s is not a flag of sgl-router that is known; hostsim convert --flags lists them", name)
}

func (p *parser) add(flag *Flag, found []string) {
	g := p.line.given[flag.Name]
	switch {
	case g == nil:
		g = &given{flag: flag}
		p.line.given[flag.Name] = g
		p.line.order = append(p.line.order, flag.Name)
	case flag.kind != kindList:
		p.mistake("%s stands twice; keep one", flag.Name)
		return
	}
	g.texts = append(g.texts, found...)
	var err error
	switch flag.kind {
	case kindCount:
		g.count, err = strconv.ParseUint(found[0], 10, 64)
		g.number = float64(g.count)
		if err != nil {
			p.mistake("%s %s is not a whole number, zero or more", flag.Name, found[0])
		}
	case kindNumber:
		if g.number, err = strconv.ParseFloat(found[0], 64); err != nil {
			p.mistake("%s %s is not a number", flag.Name, found[0])
		}
	case kindSwitch, kindText, kindList:
	}
	for _, word := range found {
		p.choice(flag, word)
	}
}

func (p *parser) choice(flag *Flag, word string) {
	if flag.choices == nil || slices.Contains(flag.choices, word) {
		return
	}
	if near, ok := nearest(word, flag.choices); ok {
		p.mistake("%s %s is not a choice; did you mean %s?", flag.Name, word, near)
		return
	}
	p.mistake("%s %s is not a choice; use %s", flag.Name, word, strings.Join(flag.choices, ", "))
}

// required checks for what every command line of sgl-router has.
func (p *parser) required() {
	if !p.line.has("--model-id") && !p.tried("--model-id") {
		p.mistake("--model-id is missing: name the model that the router serves")
	}
	if !p.line.has("--worker-urls") && !p.line.has("--service-discovery") &&
		!p.tried("--worker-urls") && !p.tried("--service-discovery") {
		p.mistake("--worker-urls or --service-discovery is missing: say where the engines are")
	}
}

// tried reports whether a mistake names the flag already.
func (p *parser) tried(name string) bool {
	return slices.ContainsFunc(p.mistakes, func(m string) bool { return strings.Contains(m, name) })
}
