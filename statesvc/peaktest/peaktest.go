// Package peaktest bounds the memory of work on hostile input, for tests. It measures the
// process, garbage and all, since that is what a container's limit is held against.
package peaktest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// child names the variable with the test that a process was begun for.
const child = "POINTSMAN_PEAK_OF"

// Within runs work in a process of its own, which is the test's binary begun again for
// this one test, and fails it if the process had more memory at its peak than limit bytes
// beyond what it had before. prepare runs in that process too, and its memory does not
// count; what it makes should be small or needed by work.
//
// With the race detector, whose own memory is a multiple, work runs in this process and is
// not measured.
func Within(t *testing.T, limit int64, prepare func() (work func())) {
	t.Helper()
	switch {
	case racing:
		prepare()()
	case os.Getenv(child) == t.Name():
		work := prepare()
		before := settle(t)
		work()
		peak := status(t, "VmHWM") - before
		fmt.Printf("peak of %s: %d MB of %d MB\n", t.Name(), peak>>20, limit>>20)
		require.LessOrEqual(t, peak, limit, "bytes of memory at the peak")
	case os.Getenv(child) == "":
		again(t)
	}
}

// again begins the test's binary for the test at hand.
func again(t *testing.T) {
	t.Helper()
	parts := strings.Split(t.Name(), "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.count=1", "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), child+"="+t.Name())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
	line := regexp.MustCompile(`peak of .*`).Find(out)
	require.NotNil(t, line, "the other process did not run the test: %.4000s", out)
	t.Logf("%s", line)
}

// settle gives memory back, forgets the peak so far and tells what is left.
func settle(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // proc(5): resets VmHWM
	return status(t, "VmRSS")
}

// status reads a line of /proc/self/status that is in kB.
func status(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), name+":")
	require.True(t, ok, "no %s", name)
	digits, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	require.NoError(t, err)
	return n << 10
}
