package story

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is a step whose output is not what the file says.
type Difference struct {
	File string
	Step Step
	Got  string
}

// Compare lists the steps whose outputs differ from what the file expects.
func (f *File) Compare(outputs []string) []Difference {
	var list []Difference
	for i, got := range outputs {
		if got != f.Steps[i].Want {
			list = append(list, Difference{File: f.Name, Step: f.Steps[i], Got: got})
		}
	}
	return list
}

// String shows the difference: what is expected only with "-", what came only with
// "+".
func (d Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", d.File, d.Step.Line, d.Step.Verb)
	want, got := lines(d.Step.Want), lines(d.Got)
	same := common(want, got)
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			fmt.Fprintf(&b, "   %s\n", want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && same[i+1][j] >= same[i][j+1]:
			fmt.Fprintf(&b, "  -%s\n", want[i])
			i++
		default:
			fmt.Fprintf(&b, "  +%s\n", got[j])
			j++
		}
	}
	return b.String()
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// common is the length of the longest common subsequence of the lines from i and
// from j on.
func common(a, b []string) [][]int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}
