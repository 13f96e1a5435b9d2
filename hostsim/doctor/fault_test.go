package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fault is one file of testdata/faults: an edit of good files that breaks one thing, and
// the finding that comes of it, or the findings where one thing has two ends. Lines with - are replaced by the lines with + that
// follow.
type fault struct {
	version string
	want    []string // severity, rule and path of each
	inputs  []Input
}

// good reads a good file. Those of testdata are like the shipped ones, but do not change
// with them.
func good(t *testing.T, name string) string {
	if name == "filter.wasm" {
		return "\x00asm\x01\x00\x00\x00"
	}
	text, err := readGood(name)
	require.NoError(t, err)
	return string(text)
}

func readGood(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join("testdata/good", name))
}

func readFault(t *testing.T, name string) fault {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var f fault
	var without, with []string
	edit := func() {
		if len(without) == 0 {
			return
		}
		in := &f.inputs[len(f.inputs)-1]
		before := strings.Join(without, "\n") + "\n"
		require.Equal(t, 1, strings.Count(string(in.Data), before), "%s: must stand once:\n%s", name, before)
		after := ""
		if len(with) > 0 {
			after = strings.Join(with, "\n") + "\n"
		}
		in.Data = []byte(strings.Replace(string(in.Data), before, after, 1))
		without, with = nil, nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "-"):
			without = append(without, line[1:])
		case strings.HasPrefix(line, "+"):
			with = append(with, line[1:])
		case line == "@": // between two edits
			edit()
		case word == "version":
			f.version = rest
		case word == "want":
			f.want = append(f.want, rest)
		case word == "file":
			edit()
			f.inputs = append(f.inputs, Input{Name: rest, Data: []byte(good(t, rest)), Asked: true})
		default:
			require.Equal(t, "#", word, "%s: %s", name, line)
		}
	}
	edit()
	return f
}

// brief lists findings for a comparison.
func brief(findings []Finding) []string {
	list := make([]string, 0, len(findings))
	for _, f := range findings {
		list = append(list, fmt.Sprintf("%s %s %s", f.Severity, f.Rule, f.Path))
	}
	return list
}

// expected is what the good files of a fault give by themselves: notes only.
func expected(t *testing.T, f fault) []string {
	var inputs []Input
	for _, in := range f.inputs {
		if in.Name != "filter.wasm" {
			inputs = append(inputs, Input{Name: in.Name, Data: []byte(good(t, in.Name)), Asked: true})
		}
	}
	findings := Examine(inputs, Options{}).Findings
	for _, n := range findings {
		require.Equal(t, Note, n.Severity, n)
	}
	return brief(findings)
}

// Every fault gives its findings and no other, and every rule has a fault.
func TestFaults(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.edit")
	require.NoError(t, err)
	require.Greater(t, len(files), 25)
	shown := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".edit"), func(t *testing.T) {
			f := readFault(t, file)
			for _, want := range f.want {
				shown[strings.Fields(want)[1]] = true
			}
			options := Options{}
			if f.version != "" {
				v, err := ParseVersion(f.version)
				require.NoError(t, err)
				options.Version = &v
			}
			report := Examine(f.inputs, options)
			usual := expected(t, f)
			got := slices.DeleteFunc(brief(report.Findings), func(s string) bool { return !slices.Contains(f.want, s) && slices.Contains(usual, s) })
			require.ElementsMatch(t, f.want, got, "%+v", report.Findings)
			for _, found := range report.Findings {
				require.NotEmpty(t, found.Why)
				require.NotEmpty(t, found.Fix)
				require.NotEmpty(t, found.What)
				if found.Path != "" {
					require.Positive(t, found.Line, found)
				}
			}
		})
	}
	for _, r := range Rules() {
		if r.Name != "header-only" { // what istio-header-only.yaml has
			require.True(t, shown[r.Name], "no fault shows %s", r.Name)
		}
	}
}
