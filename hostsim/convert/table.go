package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table writes all flags and their fates in Markdown, for people who migrate.
func Table() string {
	var b strings.Builder
	for _, part := range []struct {
		fate       Fate
		title, to  string
		withReason bool
	}{
		{Converted, "Converted", "Becomes", false},
		{Refused, "Refused", "Use instead", true},
		{Outside, "Outside routing", "Belongs to", false},
	} {
		fmt.Fprintf(&b, "## %s\n\n| Flag | Default | Good values | ", part.title)
		if part.withReason {
			b.WriteString("Reason | ")
		}
		fmt.Fprintf(&b, "%s |\n|--|--|--|--|%s\n", part.to, strings.Repeat("--|", boolCount(part.withReason)))
		for _, f := range Flags() {
			if f.Fate == part.fate {
				f.row(&b, part.withReason)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Refused values of converted flags\n\n| Flag | Reason | Use instead |\n|--|--|--|\n")
	for _, f := range Flags() {
		for _, word := range slices.Sorted(maps.Keys(f.dropped)) {
			fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", f.Name, word, f.dropped[word].reason, f.dropped[word].instead)
		}
	}
	return b.String()
}

func boolCount(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *Flag) row(b *strings.Builder, withReason bool) {
	name := strings.TrimSpace(f.Name + " " + f.Value)
	fmt.Fprintf(b, "| `%s` | %s | %s | ", name, f.Default, f.goodValues())
	if withReason {
		fmt.Fprintf(b, "%s | ", f.Reason)
	}
	fmt.Fprintf(b, "%s |\n", f.To)
}

// goodValues says what the flag takes and when it has an effect.
func (f *Flag) goodValues() string {
	var parts []string
	if f.choices != nil {
		parts = append(parts, strings.Join(f.choices, ", "))
	}
	if f.Rule != "" {
		parts = append(parts, f.Rule)
	}
	if f.policies != nil && f.Fate != Refused {
		parts = append(parts, "with --policy "+strings.Join(f.policies, " or "))
	}
	if f.needs != "" && !strings.Contains(f.Rule, f.needs) {
		parts = append(parts, "with "+f.needs)
	}
	return strings.Join(parts, "; ")
}
