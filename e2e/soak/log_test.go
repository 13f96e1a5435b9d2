package soak

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFollower_finds_lines_as_they_come(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	f := follower{path: path}
	write := func(text string, requests int) {
		_, err := file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.read(requests))
	}
	write("[info][wasm] started\n[2026][error][wasm] Func", 1)
	require.Empty(t, f.faults, "half a line is none")
	write("tion failed\n[warning] slow\n", 2)
	write("runtime: poll_oneoff failed\n", 3)
	require.Equal(t, []Fault{{2, "[2026][error][wasm] Function failed"}, {3, "runtime: poll_oneoff failed"}}, f.faults)
	require.Equal(t, 2, f.count)
}
