package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// Severity says what a finding keeps from working.
type Severity uint8

// The severities.
const (
	// Note is something to know.
	Note Severity = iota
	// Warning is something that fails under load, or when something else does.
	Warning
	// Error is something that does not work.
	Error
)

func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// MarshalText writes a severity as its word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is one thing that doctor looks for. Its name is stable: scripts rely on it.
type Rule struct {
	Name     string
	Severity Severity
	// Looks says in a few words what is looked for, Why what happens otherwise, and Fix
	// what to write.
	Looks, Why, Fix string
	// Source is where the fact behind it stands, in the project's reference.
	Source string

	check func(*model, reporter)
}

// Finding is one place where a rule is broken.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"` // 0 for a whole file
	Path     string   `json:"path,omitempty"` // empty for a whole document
	What     string   `json:"what"`
	Why      string   `json:"why"`
	Fix      string   `json:"fix"`
}

// reporter notes a finding of the rule that is being checked.
type reporter func(at tree.At, format string, args ...any)

// maxFindings is how many findings of one rule are told one by one.
const maxFindings = 100

// report notes a finding once: what several listeners share is said for the first.
func (m *model) report(r *Rule, at tree.At, format string, args ...any) {
	if m.count[r.Name] >= maxFindings {
		m.more++
		return
	}
	f := Finding{
		Rule: r.Name, Severity: r.Severity, File: at.File, Line: at.Line, Path: at.Path,
		What: fmt.Sprintf(format, args...), Why: r.Why, Fix: r.Fix,
	}
	if !slices.Contains(m.findings, f) {
		m.findings = append(m.findings, f)
		m.count[r.Name]++
	}
}

// inOrder sorts findings as they are shown: by file in the order given, the worst
// first, then by line.
func inOrder(findings []Finding, files []string) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File)),
			cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
}
