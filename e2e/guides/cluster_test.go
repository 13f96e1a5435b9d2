package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	named  = regexp.MustCompile(`(?:^|[\s="'@])((?:bin|configs|docs|dist|e2e)/[\w./-]*\w)`)
	flag   = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
	target = regexp.MustCompile(`^make ([a-z][a-z0-9-]*)`)
	value  = regexp.MustCompile(`--set ([A-Za-z.]+)=`)
	tool   = regexp.MustCompile(`bin/(hostsim|statesvc)((?: [a-z][a-z-]*)*)`)
)

// look holds commands that cannot be run here against what they name: files, flags
// of our own commands, targets of make, values of the chart. It is called when the
// other commands of the guide have written what they write.
func look(t *testing.T, dir string, b block) {
	t.Helper()
	out, err := exec.Command("bash", "-n", "-c", b.text).CombinedOutput()
	require.NoError(t, err, "line %d: %s", b.line, out)
	for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			lookFile(t, dir, match[1], b.line)
		}
		lookFlags(t, dir, line, b.line)
		lookTarget(t, dir, line, b.line)
		lookValues(t, dir, line, b.line)
	}
}

// lookFile wants a file to be there. What make release writes is held against the
// release's own list of names: cmd/release has a test of what is written.
func lookFile(t *testing.T, dir, name string, line int) {
	t.Helper()
	if name == "dist/release" {
		return
	}
	if rest, ok := strings.CutPrefix(name, "dist/release/"); ok {
		lookRelease(t, dir, rest, line)
		return
	}
	_, err := os.Stat(filepath.Join(dir, name))
	require.NoError(t, err, "line %d", line)
}

func lookRelease(t *testing.T, dir, name string, line int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "cmd/release/*.go"))
	require.NoError(t, err)
	var source []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source = append(source, text...)
	}
	require.Contains(t, string(source), `"`+name+`"`, "line %d: no part of a release", line)
}

// lookFlags wants every flag to stand in the help of the command.
func lookFlags(t *testing.T, dir, line string, at int) {
	t.Helper()
	match := tool.FindStringSubmatchIndex(line)
	if match == nil {
		return
	}
	args := append(strings.Fields(line[match[4]:match[5]]), "--help")
	help, err := exec.Command(filepath.Join(dir, "bin", line[match[2]:match[3]]), args...).CombinedOutput()
	require.NoError(t, err, "line %d: %s", at, help)
	for _, f := range flag.FindAllStringSubmatch(line[match[1]:], -1) {
		require.Regexp(t, regexp.QuoteMeta(f[1])+`\b`, string(help), "line %d", at)
	}
}

func lookTarget(t *testing.T, dir, line string, at int) {
	t.Helper()
	if match := target.FindStringSubmatch(line); match != nil {
		cmd := exec.Command("make", "-n", match[1])
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "line %d: %s", at, out)
	}
}

// lookValues wants the last word of every value that is set to be a key of the chart.
func lookValues(t *testing.T, dir, line string, at int) {
	t.Helper()
	if !strings.Contains(line, "configs/kubernetes/chart/pointsman") {
		return
	}
	values, err := os.ReadFile(filepath.Join(dir, "configs/kubernetes/chart/pointsman/values.yaml"))
	require.NoError(t, err)
	for _, match := range value.FindAllStringSubmatch(line, -1) {
		key := match[1][strings.LastIndex(match[1], ".")+1:]
		require.Regexp(t, `(?m)\b`+regexp.QuoteMeta(key)+`:`, string(values), "line %d", at)
	}
}
