package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is one table with what a reader needs to trust and repeat it.
type Table struct {
	Title   string
	Command string // that makes it
	Target  string // of design section 9, if there is one
	Notes   []string
	Columns []string
	Rows    [][]string
}

// Row appends a row; it must have a cell for every column.
func (t *Table) Row(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write writes the table as Markdown, its columns aligned for people who read
// the source.
func (t *Table) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n`%s`\n", t.Title, t.Command)
	if t.Target != "" {
		fmt.Fprintf(&b, "\nTarget (design section 9): %s\n", t.Target)
	}
	b.WriteString("\n")
	widths := t.widths()
	line(&b, t.Columns, widths)
	rule := make([]string, len(t.Columns))
	for i, n := range widths {
		rule[i] = strings.Repeat("-", n)
	}
	line(&b, rule, widths)
	for _, r := range t.Rows {
		line(&b, r, widths)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for _, r := range append([][]string{t.Columns}, t.Rows...) {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	return widths
}

func line(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
	}
	b.WriteString("|\n")
}
