package story

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `# Why.

config quiet
{"models": {}}
----
1 model

request r1 model=m header=(x-a, b c) \
  input=5
----
r1 dispatch  A

# Blank lines stand between two pairs of dashes.
log
----
----
one

two
----
----

load
----
`

func TestParse_steps(t *testing.T) {
	f, err := Parse("s.story", sample)
	require.NoError(t, err)
	require.Len(t, f.Steps, 4)
	require.Equal(t, []int{3, 8, 14, 23}, []int{f.Steps[0].Line, f.Steps[1].Line, f.Steps[2].Line, f.Steps[3].Line})
	require.Equal(t, []string{`{"models": {}}`}, lines(f.Steps[0].Input))
	require.Equal(t, []Arg{{Name: "quiet"}}, f.Steps[0].Args)
	require.Equal(t, []Arg{
		{Name: "r1"}, {Name: "model", Values: []string{"m"}}, {Name: "header", Values: []string{"x-a", "b c"}}, {Name: "input", Values: []string{"5"}},
	}, f.Steps[1].Args)
	require.Equal(t, "r1 dispatch  A\n", f.Steps[1].Want)
	require.Equal(t, "one\n\ntwo\n", f.Steps[2].Want)
	require.Empty(t, f.Steps[3].Want)
}

// What was not changed is written as it was read.
func TestFormat_keeps_the_rest(t *testing.T) {
	f, err := Parse("s.story", sample)
	require.NoError(t, err)
	require.Equal(t, sample, f.Format([]string{"1 model\n", "r1 dispatch  A\n", "one\n\ntwo\n", ""}))
	changed := f.Format([]string{"2 models\n", "", "plain\n", "\nafter a blank\n"})
	require.Contains(t, changed, "----\n2 models\n\nrequest")
	require.Contains(t, changed, "log\n----\nplain\n\nload")
	again, err := Parse("s.story", changed)
	require.NoError(t, err)
	require.Equal(t, "\nafter a blank\n", again.Steps[3].Want)
}

func TestParse_mistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"----\n", `s.story:1: ---- without a command above it; write one, like "request r1 model=m"`},
		{"# a\n\nload\nmore\n", `s.story:3: "load" has no line "----" after it; write one, with the expected output below it`},
		{"request r1 \\\n", `s.story:1: the command goes on after a backslash, but the file ends; drop the backslash`},
		{"request header=(a,b\n----\n", `s.story:1: header=( has no closing bracket; write header=(a,b)`},
		{"request =b\n----\n", `s.story:1: an argument begins with "="; write name=value without blanks`},
		{"log\n----\n----\nx\n\ny\n", `s.story:1: the output of "log" begins with two lines "----" and must end with two`},
	} {
		_, err := Parse("s.story", tt.text)
		require.EqualError(t, err, tt.want)
	}
}

// A story that is read is written as it was, whatever it holds; outputs written
// into it are read back.
func FuzzParse(f *testing.F) {
	f.Add(sample, "x\n")
	f.Add("load\r\n----\r\nok\r\n", "a\n\nb\n")
	f.Add("a\n----", "")
	f.Add("a\n----\n----\n----\n----\n", "\n")
	f.Fuzz(func(t *testing.T, text, output string) {
		file, err := Parse("f.story", text)
		if err != nil {
			require.ErrorAs(t, err, new(*Error))
			return
		}
		outputs := make([]string, len(file.Steps))
		for i := range outputs {
			outputs[i] = tidy(output)
		}
		again, err := Parse("f.story", file.Format(outputs))
		require.NoError(t, err)
		require.Len(t, again.Steps, len(file.Steps))
		for i, step := range again.Steps {
			require.Equal(t, file.Steps[i].Args, step.Args)
			require.Equal(t, step.Want, outputs[i], "of step %d", i)
		}
	})
}

// tidy makes an output of a kind that steps have: whole lines, none of dashes only.
func tidy(output string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r", ""), "\n") {
		if strings.TrimSpace(line) == dashes || (line != "" && strings.TrimSpace(line) == "") {
			line = "-"
		}
		b.WriteString(line + "\n")
	}
	if strings.Trim(b.String(), "\n") == "" {
		return ""
	}
	return b.String()
}
