package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"
)

// TestRun_sameBytesWhereverItIsBuilt builds the filter's part of a release in
// the checkout and in a copy of it elsewhere.
func TestRun_sameBytesWhereverItIsBuilt(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	build(t, root, here)
	build(t, copyOfSources(t, root), there)

	require.Equal(t, read(t, here, sumsFile), read(t, there, sumsFile))
	require.Equal(t, map[string]string{pluginFile: read(t, here, "filter.wasm")}, filesOf(t, onlyImage(t, here)))
	require.Contains(t, read(t, here, "filter.cdx.json"), "pkg:golang/github.com/tidwall/gjson@v")
	for line := range strings.Lines(read(t, here, sumsFile)) {
		require.FileExists(t, filepath.Join(here, strings.Fields(line)[1]))
	}
}

func TestRun_refusesArguments(t *testing.T) {
	var stderr strings.Builder
	require.Equal(t, 2, run([]string{"v1"}, io.Discard, &stderr))
	require.Equal(t, "release: unexpected argument \"v1\"\n", stderr.String())
}

// TestRun_keepsTheFormerReleaseWhenABuildFails also checks that nothing
// half-built is left.
func TestRun_keepsTheFormerReleaseWhenABuildFails(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "release")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, sumsFile), []byte("former"), 0o600))
	r := release{dir: dir, goTool: "false", stdout: io.Discard, stderr: io.Discard}
	require.Error(t, r.run())
	require.Equal(t, "former", read(t, dir, sumsFile))
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestStatesvcImage_hasOneImagePerPlatform(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(file, []byte("program"), 0o600))
	r := release{dir: dir}
	require.NoError(t, r.statesvcImage([]builtService{{platform{"linux", "amd64"}, file}, {platform{"linux", "arm64"}, file}}))

	index, err := layout.ImageIndexFromPath(filepath.Join(dir, "statesvc-oci"))
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	for i, arch := range []string{"amd64", "arm64"} {
		require.Equal(t, arch, manifest.Manifests[i].Platform.Architecture)
		image, err := index.Image(manifest.Manifests[i].Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, []string{"linux", arch, "/statesvc", "65534:65534"}, []string{config.OS, config.Architecture, config.Config.Entrypoint[0], config.Config.User})
		require.Equal(t, map[string]string{"statesvc": "program"}, filesOf(t, image))
	}
}

// build makes the filter's part of a release from a tree of sources.
func build(t *testing.T, root, dir string) {
	t.Helper()
	t.Chdir(root)
	var stderr strings.Builder
	code := run([]string{"-o", dir, "-version", "v1.2.3", "-commit", "abc", "-filter-only"}, io.Discard, &stderr)
	require.Zero(t, code, stderr.String())
}

// copyOfSources copies what the filter is built from.
func copyOfSources(t *testing.T, root string) string {
	t.Helper()
	to := t.TempDir()
	for _, dir := range []string{"core", "wasmfilter", "cmd", "hostsim/wasmfile"} {
		require.NoError(t, os.CopyFS(filepath.Join(to, dir), os.DirFS(filepath.Join(root, dir))))
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		require.NoError(t, os.WriteFile(filepath.Join(to, file), []byte(read(t, root, file)), 0o600))
	}
	return to
}

// onlyImage is the one image of the filter's layout.
func onlyImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, "filter-oci"))
	require.NoError(t, err)
	var manifest v1.IndexManifest
	require.NoError(t, json.Unmarshal([]byte(read(t, dir, "filter-oci/index.json")), &manifest))
	require.Len(t, manifest.Manifests, 1)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	return image
}

// filesOf reads every file of an image.
func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	files := map[string]string{}
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		body, err := io.ReadAll(archive)
		require.NoError(t, err)
		files[header.Name] = string(body)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(content)
}
