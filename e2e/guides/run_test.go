package guides

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prelude makes a shell stop at the first command that fails, and say which.
const prelude = `set -Eeuo pipefail
trap 'echo "exit code $? of: $BASH_COMMAND" >&2' ERR
`

// patience is how long the commands of one guide may take together.
const patience = 5 * time.Minute

// mark stands before what the block of that number prints.
func mark(i int) string { return fmt.Sprintf("--- block %d ---\n", i) }

// run runs the blocks of a page in one shell, as someone would who pastes them one
// after the other, and gives what each printed.
func run(t *testing.T, dir string, blocks []block) []string {
	t.Helper()
	var script strings.Builder
	script.WriteString(prelude)
	for i, b := range blocks {
		fmt.Fprintf(&script, "printf %%s '%s'\n%s\n", mark(i), b.text)
	}
	// A file and no pipe: what runs in the background may hold it open.
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	require.NoError(t, err)
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	failure := cmd.Wait()
	stopGroup(t, cmd.Process.Pid)
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.NoError(t, failure, "%s\n%s", text, logs(dir))
	return outputs(string(text), len(blocks))
}

// stopGroup ends what a shell left running in the background. The group is the
// shell's own and bears its process ID.
func stopGroup(t *testing.T, group int) {
	t.Helper()
	gone := func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }
	_ = syscall.Kill(-group, syscall.SIGTERM)
	for deadline := time.Now().Add(15 * time.Second); !gone() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	require.Eventually(t, gone, 15*time.Second, 20*time.Millisecond, "what the guide started does not end")
}

// outputs takes apart what a shell printed by the marks of its blocks.
func outputs(text string, n int) []string {
	list := make([]string, n)
	for i := range list {
		_, list[i], _ = strings.Cut(text, mark(i))
		list[i], _, _ = strings.Cut(list[i], mark(i+1))
	}
	return list
}

// logs are those that guides have processes in the background write.
func logs(dir string) string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(dir, "dist", "*.log"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			fmt.Fprintf(&all, "== %s\n%s\n", filepath.Base(file), text)
		}
	}
	return all.String()
}
