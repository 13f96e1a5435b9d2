package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// pluginFile is the one file of the filter's image: the name that Istio's agent
// looks for in the last layer (envoy.md 9.1).
const pluginFile = "plugin.wasm"

// builtService is the state service of one platform.
type builtService struct {
	platform platform
	file     string
}

// filterImage writes the filter as an OCI layout: one gzipped layer with the
// module alone.
func (r *release) filterImage(module string) error {
	image, err := imageOf(module, pluginFile, 0o644, v1.ConfigFile{OS: "wasip1", Architecture: "wasm"})
	if err != nil {
		return err
	}
	index := mutate.AppendManifests(emptyIndex(), mutate.IndexAddendum{Add: image})
	_, err = layout.Write(r.path("filter-oci"), index)
	return err
}

// statesvcImage writes the state service as an OCI layout with one image per
// platform. The program is static, so nothing else is in it; it runs as nobody.
func (r *release) statesvcImage(services []builtService) error {
	index := emptyIndex()
	for _, s := range services {
		image, err := imageOf(s.file, "statesvc", 0o755, v1.ConfigFile{
			OS:           s.platform.os,
			Architecture: s.platform.arch,
			Config:       v1.Config{Entrypoint: []string{"/statesvc"}, User: "65534:65534"},
		})
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: s.platform.os, Architecture: s.platform.arch}},
		})
	}
	_, err := layout.Write(r.path("statesvc-oci"), index)
	return err
}

func emptyIndex() v1.ImageIndex { return mutate.IndexMediaType(empty.Index, types.OCIImageIndex) }

// imageOf is an image of one layer with one file. Nothing in it depends on the
// time or the place of the build.
func imageOf(file, name string, mode int64, config v1.ConfigFile) (v1.Image, error) {
	archive, err := tarOf(file, name, mode)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	config.RootFS.Type = "layers"
	image, err := mutate.ConfigFile(empty.Image, &config)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
}

func tarOf(file, name string, mode int64) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
