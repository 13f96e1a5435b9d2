package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown matches a folder, a story or a test in a row of FIELDREPORTS.md.
var shown = regexp.MustCompile("`((?:core|e2e|hostsim|statesvc|wasmfilter)(?:/[a-z]+)*)`|`([A-Za-z0-9_]+\\.story)`|\\b(Test_?[A-Za-z0-9_]+)")

// Every test and story that FIELDREPORTS.md names exists, in the folder that it
// names before it, and no entry stands in a section twice.
func TestFieldReports_names_exist(t *testing.T) {
	text, err := os.ReadFile("FIELDREPORTS.md")
	require.NoError(t, err)
	tables, _, _ := strings.Cut(string(text), "## What would need")
	ids := map[string]bool{}
	for row := range strings.Lines(string(text)) {
		id, what, found := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		if !found || !strings.HasPrefix(row, "| ") || id == "Id" {
			continue
		}
		if strings.Contains(tables, row) {
			require.False(t, ids[id], "%s stands twice", id)
			ids[id] = true
		}
		for _, problem := range missing(t, what) {
			t.Errorf("%s: %s", id, problem)
		}
	}
	require.NotEmpty(t, ids)
}

// missing lists what a row names and the tree does not have.
func missing(t *testing.T, row string) (problems []string) {
	folder := ""
	for _, m := range shown.FindAllStringSubmatch(row, -1) {
		switch {
		case m[1] != "":
			folder = m[1]
		case m[2] != "":
			if _, err := os.Stat(filepath.Join("..", "e2e", "stories", m[2])); err != nil {
				problems = append(problems, err.Error())
			}
		case !strings.Contains(testsOf(t, folder), "\nfunc "+m[3]+"(t *testing.T"):
			problems = append(problems, fmt.Sprintf("%s has no %s", folder, m[3]))
		}
	}
	return problems
}

// testsOf gives the text of a folder's test files.
func testsOf(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
