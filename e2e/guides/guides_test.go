// Package guides runs the guides of docs: every command of each, in order, in a
// checkout without anything built, and what they promise is compared with what is
// printed. Commands that need a cluster or a registry are looked at, not run.
package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

// envoyVersion is that of the guides.
const envoyVersion = "1.40.0"

// TestGuides runs the guides one after the other. Each has a checkout of its own,
// into which what make build wasm gives in the first is copied.
func TestGuides(t *testing.T) {
	first := freshCheckout(t)
	install := exec.Command("make", "build", "wasm")
	install.Dir = first
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			dir := freshCheckout(t)
			built(t, first, dir)
			installed(t, dir, envoyVersion)
			follow(t, dir, filepath.Join("docs", name))
		})
	}
}

// follow does what a guide says.
func follow(t *testing.T, dir, guide string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, guide))
	require.NoError(t, err)
	p, err := parse(string(text))
	require.NoError(t, err)
	free := remap(t)
	var runnable, others []block
	for _, b := range p.blocks {
		if b.cluster {
			others = append(others, b)
		} else {
			require.Empty(t, strayPorts(b.text), "line %d: ports that are not in the list of guides' ports", b.line)
			b.text, b.want = free(b.text), free(b.want)
			runnable = append(runnable, b)
		}
	}
	for i, got := range run(t, dir, runnable) {
		b := runnable[i]
		require.True(t, promised(b.want).MatchString(got), "line %d: promised is\n%s\nprinted is\n%s", b.line, b.want, got)
	}
	for _, b := range others {
		look(t, dir, b)
	}
}

// pages are the guides.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(envoytest.Root(t), "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// Every guide is in the index, and no relative link of any leads nowhere.
func TestLinks(t *testing.T) {
	docs := filepath.Join(envoytest.Root(t), "docs")
	index, err := os.ReadFile(filepath.Join(docs, "README.md"))
	require.NoError(t, err)
	for _, name := range pages(t) {
		if name != "README.md" {
			require.Contains(t, string(index), "]("+name, "not in the index")
		}
		text, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			file, anchor, _ := strings.Cut(match[1], "#")
			to := filepath.Join(docs, file)
			if file == "" {
				to = filepath.Join(docs, name)
			}
			_, err := os.Stat(to)
			require.NoError(t, err, "%s: %s", name, match[1])
			if anchor != "" {
				require.Contains(t, anchors(t, to), anchor, "%s: %s", name, match[1])
			}
		}
	}
}
