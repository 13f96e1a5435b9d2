package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// width is where lines of the terminal text are broken.
const width = 100

// WriteText writes a report for people: what each proxy will do, then the findings by
// file, the worst first.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Proxies {
		p.write(&b)
	}
	file := ""
	for i, f := range r.Findings {
		if i == 0 || f.File != file {
			file = f.File
			fmt.Fprintf(&b, "%s\n", file)
		}
		f.write(&b)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %d more of rules that are named above\n\n", r.More)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "not looked at: %s\n", s)
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", plural(r.Count(Error), "error"), plural(r.Count(Warning), "warning"), plural(r.Count(Note), "note"))
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// printable replaces what a file could steer a terminal with.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

func (p *Picture) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s\n", p.File, p.Title)
	if p.Verdict != nil {
		fmt.Fprintf(b, "  Envoy %s: %s (%s: %s)\n", p.Version, p.Verdict.Verdict, p.Verdict.Releases, p.Verdict.Means)
	} else {
		b.WriteString("  Envoy of unknown version; --envoy-version says it\n")
	}
	for _, line := range p.Lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	b.WriteString("\n")
}

func (f *Finding) write(b *strings.Builder) {
	place := f.Path
	if f.Line > 0 {
		place = fmt.Sprintf("line %d  %s", f.Line, f.Path)
	}
	fmt.Fprintf(b, "  %-8s %-22s %s\n", f.Severity, f.Rule, place)
	wrap(b, "", f.What)
	wrap(b, "why: ", f.Why)
	wrap(b, "fix: ", f.Fix)
	b.WriteString("\n")
}

// wrap writes a text in lines, indented.
func wrap(b *strings.Builder, label, text string) {
	const margin = "           "
	line := margin + label
	fill := margin + strings.Repeat(" ", len(label))
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line, empty = fill, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
