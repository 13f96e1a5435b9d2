package story

import (
	"fmt"
	"strings"
)

// File is a parsed story.
type File struct {
	Name  string
	Steps []Step
	tail  string // what follows the last step
}

// Step is one command of a story.
type Step struct {
	Line  int    // of the command, from 1
	Verb  string // the command's first word
	Args  []Arg
	Input string // lines between the command and the dashes
	Want  string // lines after the dashes

	source string // the text up to and including the dashes, comments above it included
}

// Arg is one argument of a command: a name alone, name=value, or
// name=(value,value).
type Arg struct {
	Name   string
	Values []string
}

// Error is a mistake in a story: what stands there and what to write.
type Error struct {
	File   string
	Line   int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

func (f *File) fault(line int, format string, args ...any) error {
	return &Error{File: f.Name, Line: line, Reason: fmt.Sprintf(format, args...)}
}

// Format writes the file with other outputs, one per step; steps without one
// lose theirs. Comments and layout stay.
func (f *File) Format(outputs []string) string {
	var b strings.Builder
	for i, step := range f.Steps {
		b.WriteString(step.source)
		if i < len(outputs) {
			b.WriteString(expectation(outputs[i]))
		}
	}
	b.WriteString(f.tail)
	return b.String()
}

// expectation is an output as a file holds it: between two pairs of dashes when a
// blank line is in it, else up to the next blank line.
func expectation(output string) string {
	switch {
	case output == "":
		return ""
	case strings.Contains(output, "\n\n") || strings.HasPrefix(output, "\n"):
		return dashes + "\n" + output + dashes + "\n" + dashes + "\n"
	}
	return output
}
