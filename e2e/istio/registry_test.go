package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// imageTag is what the filter's image is pushed as.
const imageTag = "v1.2.3"

// releaseFilter builds the filter as releases do, into filter.wasm and filter-oci, and
// gives the folder.
func releaseFilter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/release"
	cmd := exec.Command("go", "run", "./cmd/release", "-filter-only", "-o", dir, "-version", imageTag)
	cmd.Dir = "../.."
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// serveImage pushes the one image of a layout to a registry of its own, and gives the
// repository and the image's digest in hexadecimal digits.
func serveImage(t *testing.T, path string) (repository, digest string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository = strings.TrimPrefix(server.URL, "http://") + "/pointsman/filter"
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%s has %d images", path, len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(repository + ":" + imageTag)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	return repository, manifest.Manifests[0].Digest.Hex
}
