package schema

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

// Page gives the format's settings as Markdown: one table for the top, and one for
// each object below it.
func (f *Format) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\nSchema: [schema/%s.schema.json](schema/%s.schema.json).\n\n", f.Title, f.Name, f.Name)
	p := page{out: &b, done: map[string]string{}}
	p.table("", f.settings)
	return b.String()
}

// page writes tables.
type page struct {
	out  *strings.Builder
	done map[string]string // where an object with the same keys stands
}

// table writes one object's settings, then those of the objects below it.
func (p *page) table(at string, list []setting) {
	if at != "" {
		fmt.Fprintf(p.out, "### `%s`\n\n", at)
	}
	policies := strings.Contains(keys(list), "choices ") // settings that belong to one policy each
	p.out.WriteString("| Setting | Value | Default | Meaning |\n|--|--|--|--|\n")
	for i := range list {
		s := &list[i]
		meaning, standard := s.meaning()
		if owner, owned := spec.PolicyOf(s.key); owned && policies {
			meaning = "`" + owner + "`: " + meaning
		}
		fmt.Fprintf(p.out, "| `%s` | %s | %s | %s |\n", s.key, s.form(), standard, cell(meaning))
	}
	p.out.WriteString("\n")
	for i := range list {
		p.under(join(at, list[i].key), &list[i])
	}
}

// under writes what is below one setting, unless an equal object was written before.
func (p *page) under(at string, s *setting) {
	switch s.kind {
	case "list":
		p.under(at+"[]", s.every)
		return
	case "map":
		p.under(at+".<name>", s.every)
		return
	}
	if len(s.below) == 0 {
		return
	}
	shape := keys(s.below)
	if before, written := p.done[shape]; written {
		fmt.Fprintf(p.out, "### `%s`\n\nAs [`%s`](#%s).\n\n", at, before, anchor(before))
		return
	}
	p.done[shape] = at
	p.table(at, s.below)
}

func keys(list []setting) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].key + " " + list[i].doc + "\n")
	}
	return b.String()
}

// anchor is what a heading's link is called.
func anchor(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return -1
	}, heading)
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// form says what to write: the kind of value, and its unit.
func (s *setting) form() string {
	kind := s.kind
	if s.every != nil {
		kind += " of " + plural(s.every.kind)
	}
	for suffix, unit := range map[string]string{"_ms": "milliseconds", "_secs": "seconds", "_bytes": "bytes", "_tokens": "tokens"} {
		if strings.HasSuffix(s.key, suffix) && strings.HasSuffix(s.kind, "number") {
			return unit
		}
	}
	return kind
}

func plural(kind string) string {
	if kind == "text" {
		return "texts"
	}
	return kind + "s"
}

// said finds what a comment says of the default.
var said = regexp.MustCompile(`(?:Default:? |default: )([^.;]*(?:\.\d[^.;]*)*)|([a-z_0-9]+) \(default\)`)

// meaning gives the comment and the default: what the readers fill in, else what the
// comment says.
func (s *setting) meaning() (meaning, standard string) {
	words := said.FindStringSubmatch(s.doc)
	switch {
	case s.standard != "":
		standard = "`" + s.standard + "`"
	case strings.Contains(s.doc, "Required") || strings.HasSuffix(s.doc, "required"):
		standard = "required"
	case words != nil:
		standard = words[1] + words[2]
	case s.kind == truth:
		standard = "`false`"
	}
	return s.doc, standard
}

// cell keeps a text within one cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
