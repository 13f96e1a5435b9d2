package proc_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCPU_grows_with_work(t *testing.T) {
	before, err := proc.CPU(os.Getpid())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now, err := proc.CPU(os.Getpid())
		return err == nil && now > before
	}, 10*time.Second, time.Millisecond)
	_, err = proc.CPU(1 << 22) // above the largest process id
	require.ErrorContains(t, err, "CPU clock of process")
}

func TestResident_is_not_nothing(t *testing.T) {
	bytes, err := proc.Resident(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, bytes, int64(1<<20))
}

func TestProcess_Stop_ends_the_whole_family(t *testing.T) {
	p, out, err := proc.StartPiped("shell", "/bin/sh", []string{"-c", "sleep 1000 & echo up; wait"}, nil)
	require.NoError(t, err)
	defer out.Close()
	line := make([]byte, 3)
	_, err = io.ReadFull(out, line)
	require.NoError(t, err)
	family := proc.Family(p.PID())
	require.Len(t, family, 2)
	p.Stop()
	require.True(t, p.Exited())
	require.Eventually(t, func() bool {
		rest, err := io.ReadAll(out) // ends when no process holds the pipe
		return err == nil && len(rest) == 0
	}, 10*time.Second, time.Millisecond)
}

func TestProcess_keeps_output(t *testing.T) {
	p, err := proc.Start("shell", "/bin/sh", []string{"-c", "echo trouble >&2"}, nil)
	require.NoError(t, err)
	require.Eventually(t, p.Exited, 10*time.Second, time.Millisecond)
	require.Equal(t, "trouble", p.Output())
	p.Stop()
}
