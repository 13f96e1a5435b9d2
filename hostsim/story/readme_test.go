package story

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs of the examples into README.md")

// The examples of the manual are one story; each command has one.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```story\n(.*?)```\n")
	var whole strings.Builder
	for _, m := range blocks.FindAllStringSubmatch(string(text), -1) {
		whole.WriteString(m[1] + "\n")
	}
	f, err := Parse("README.md", whole.String())
	require.NoError(t, err)
	outputs, err := f.Run(Native{})
	require.NoError(t, err)
	if *rewrite {
		document := blocks.ReplaceAllStringFunc(string(text), func(block string) string {
			steps, err := Parse("README.md", blocks.FindStringSubmatch(block)[1])
			require.NoError(t, err)
			fresh := steps.Format(outputs[:len(steps.Steps)])
			outputs = outputs[len(steps.Steps):]
			return "```story\n" + fresh + "```\n"
		})
		require.NoError(t, os.WriteFile("README.md", []byte(document), 0o644))
		return
	}
	var differences strings.Builder
	for _, d := range f.Compare(outputs) {
		differences.WriteString(d.String())
	}
	require.Empty(t, differences.String())
	shown := map[string]bool{}
	for _, s := range f.Steps {
		shown[s.Verb] = true
	}
	for _, name := range verbNames() {
		require.True(t, shown[name], "README.md has no example of %q", name)
	}
}
