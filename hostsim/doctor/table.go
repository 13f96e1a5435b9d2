package doctor

import (
	"fmt"
	"strings"
)

// Table writes all rules, and what each release of Envoy can do, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("# What hostsim doctor looks for\n\nGenerated from the rules; `hostsim doctor --rules` prints it.\n\n")
	b.WriteString("| Rule | Severity | Looks for | Why | Fix | Source |\n|--|--|--|--|--|--|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.Name, r.Severity, cell(r.Looks), cell(r.Why), cell(r.Fix), cell(r.Source))
	}
	b.WriteString("\n## Releases of Envoy\n\n| Envoy | Verdict | Means |\n|--|--|--|\n")
	for _, v := range Verdicts() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", v.Releases, v.Verdict, v.Means)
	}
	b.WriteString("\nIstio from 1.28 on: its proxies are Envoy 1.36 and later. Control planes before it need not know\nthe header-pause flag.\n")
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
