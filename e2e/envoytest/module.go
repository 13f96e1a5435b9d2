package envoytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Builder builds filter.wasm once for a test process, so that tests never run
// against a stale module. The zero value is ready.
type Builder struct {
	once   sync.Once
	dir    string
	output []byte
	err    error
}

// Module gives the path of the module, built from the present source.
func (b *Builder) Module(t testing.TB) string {
	t.Helper()
	root := Root(t)
	b.once.Do(func() {
		//nolint:usetesting // the module outlives the test that builds it
		if b.dir, b.err = os.MkdirTemp("", "filter-"); b.err != nil {
			return
		}
		cmd := exec.Command("go", "run", "./cmd/wasmbuild", "-o", b.path(), "-version", "test")
		cmd.Dir = root
		b.output, b.err = cmd.CombinedOutput()
	})
	require.NoError(t, b.err, "%s", b.output)
	return b.path()
}

func (b *Builder) path() string { return filepath.Join(b.dir, "filter.wasm") }

// Close removes the module.
func (b *Builder) Close() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}
