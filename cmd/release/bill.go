package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// module is a Go module that a package is built from.
type module struct {
	Path, Version string
	Main          bool
	Replace       *module
}

// bill writes the bill of materials of a package as CycloneDX JSON: the modules
// that its build takes packages from, and Go itself. It bears no serial number
// and no time, so that the same build has the same bill.
func (r *release) bill(pkg string, p platform, name string) error {
	modules, err := r.modules(pkg, p)
	if err != nil {
		return err
	}
	toolchain, err := exec.Command(r.goTool, "env", "GOVERSION").Output()
	if err != nil {
		return fmt.Errorf("go env GOVERSION: %w", err)
	}
	components := []cyclonedx.Component{library("std", strings.TrimPrefix(strings.TrimSpace(string(toolchain)), "go"))}
	for _, m := range modules {
		components = append(components, library(m.Path, m.Version))
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		Type:    cyclonedx.ComponentTypeApplication,
		Name:    name,
		Version: r.version,
		Properties: &[]cyclonedx.Property{
			{Name: "commit", Value: r.commit},
			{Name: "platform", Value: p.String()},
		},
	}}
	bom.Components = &components
	file, err := os.Create(r.path(name + ".cdx.json"))
	if err != nil {
		return err
	}
	err = cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return errors.Join(err, file.Close())
}

func library(path, version string) cyclonedx.Component {
	return cyclonedx.Component{
		BOMRef:     "pkg:golang/" + path + "@" + version,
		Type:       cyclonedx.ComponentTypeLibrary,
		Name:       path,
		Version:    version,
		PackageURL: "pkg:golang/" + path + "@" + version,
	}
}

// modules are the foreign modules that a package is built from, by path.
func (r *release) modules(pkg string, p platform) ([]module, error) {
	cmd := exec.Command(r.goTool, "list", "-deps", "-json=Module", pkg)
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0")
	cmd.Stderr = r.stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w", pkg, err)
	}
	found := map[string]module{}
	packages := json.NewDecoder(bytes.NewReader(output))
	for {
		var entry struct{ Module *module }
		err := packages.Decode(&entry)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list -deps %s: %w", pkg, err)
		}
		m := entry.Module
		if m == nil || m.Main {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		found[m.Path] = *m
	}
	list := make([]module, 0, len(found))
	for _, m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
