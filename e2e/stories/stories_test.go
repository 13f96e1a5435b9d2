// Package stories plays the story files of this folder on the filter's core and on
// the module. `go test ./e2e/stories -rewrite` takes the outputs over.
package stories

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/story"
	"github.com/stretchr/testify/require"
)

var (
	rewrite = flag.Bool("rewrite", false, "write the outputs of the core into the files")
	module  envoytest.Builder
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := module.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// read gives a story of this folder. Names are those of the repository's root, so
// that messages can be followed.
func read(t *testing.T, path string) *story.File {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := story.Parse(filepath.Join("e2e/stories", path), string(text))
	require.NoError(t, err)
	return file
}

func paths(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("*.story")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

func loadModule(t *testing.T) *hostsim.Module {
	t.Helper()
	dependOnFilter(t)
	code, err := os.ReadFile(module.Module(t))
	require.NoError(t, err)
	loaded, err := hostsim.Load(context.Background(), code, hostsim.ModuleOptions{Profile: hostsim.Envoy133})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, loaded.Close(context.Background())) })
	return loaded
}

// dependOnFilter looks at the sources of the filter's shell, which the test does not
// import: a remembered result of the test then counts only while they are the same.
func dependOnFilter(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../../wasmfilter", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = os.Stat(path)
		return err
	}))
}

// differences is what does not come out as the file says.
func differences(t *testing.T, file *story.File, host story.Host) string {
	t.Helper()
	outputs, err := file.Run(host)
	require.NoError(t, err)
	var b strings.Builder
	for _, d := range file.Compare(outputs) {
		b.WriteString(d.String())
	}
	return b.String()
}

// The core tells every story as it is written. With -rewrite it writes it.
func TestStories_native(t *testing.T) {
	for _, path := range paths(t) {
		t.Run(path, func(t *testing.T) {
			file := read(t, path)
			if *rewrite {
				outputs, err := file.Run(story.Native{})
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(file.Format(outputs)), 0o644))
				return
			}
			require.Empty(t, differences(t, file, story.Native{}))
		})
	}
}

// The module tells every story as the core does, byte for byte.
func TestStories_wasm(t *testing.T) {
	host := story.Wasm{Module: loadModule(t)}
	for _, path := range paths(t) {
		t.Run(path, func(t *testing.T) {
			require.Empty(t, differences(t, read(t, path), host))
		})
	}
}

// A story opens with the reason it exists and is written as -rewrite writes it.
func TestStories_form(t *testing.T) {
	for _, path := range paths(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "), "%s has no opening comment", path)
		file := read(t, path)
		outputs := make([]string, 0, len(file.Steps))
		for _, s := range file.Steps {
			outputs = append(outputs, s.Want)
		}
		require.Equal(t, string(text), file.Format(outputs), path)
	}
}
