package guides

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

// freshCheckout copies the source as a clone would have it: without anything that
// was built or installed.
func freshCheckout(t *testing.T) string {
	t.Helper()
	root, dir := envoytest.Root(t), t.TempDir()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if leftOut(name) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return place(path, filepath.Join(dir, name), d)
	}))
	return dir
}

// leftOut tells of what a clone does not have. See .gitignore.
func leftOut(name string) bool {
	return name == ".git" || name == "bin" || name == "dist" || strings.HasPrefix(name, ".venv-") || name == ".tokenizers"
}

func place(from, to string, d fs.DirEntry) error {
	if d.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	if !d.Type().IsRegular() {
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// installed puts the Envoy of the root into a checkout, so that make finds it there.
func installed(t *testing.T, dir, version string) {
	t.Helper()
	name := ".venv-envoy-" + version
	envoytest.Binary(t, version) // says what to do where it is not installed
	require.NoError(t, os.Symlink(filepath.Join(envoytest.Root(t), name), filepath.Join(dir, name)))
}

// built copies what was built once, so that make finds it up to date.
func built(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"bin", "dist"} {
		require.NoError(t, exec.Command("cp", "-a", filepath.Join(from, name), to).Run())
	}
}
