package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// VersionSection is the custom section with the module's version as JSON.
const VersionSection = "pointsman"

const versionPackage = "github.com/pointsman/pointsman/wasmfilter/internal/version"

// unwanted are the exports that hosts call per streamed chunk or at the end of
// a response. A host does not call what is not exported (design section 3).
func unwanted() []string {
	return []string{"proxy_on_response_body", "proxy_on_response_trailers"}
}

type build struct {
	output, pkg     string
	version, commit string
	plainRuntime    bool
	goTool          string
	stderr          io.Writer
}

// run builds the module and returns one line about it.
func (b *build) run() (string, error) {
	dir, err := os.MkdirTemp("", "wasmbuild-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	linked := filepath.Join(dir, "linked.wasm")
	if err := b.link(dir, linked); err != nil {
		return "", err
	}
	module, err := os.ReadFile(linked)
	if err != nil {
		return "", err
	}
	module, err = b.finish(module)
	if err != nil {
		return "", err
	}
	if err := b.write(module); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d bytes, %s (%s)", b.output, len(module), b.version, b.commit), nil
}

// link runs the Go tool.
func (b *build) link(dir, output string) error {
	args := []string{
		"build", "-buildmode=c-shared", "-trimpath",
		"-ldflags=-s -w -X " + versionPackage + ".Version=" + b.version + " -X " + versionPackage + ".Commit=" + b.commit,
	}
	if !b.plainRuntime {
		goroot, err := exec.Command(b.goTool, "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("go env GOROOT: %w", err)
		}
		overlay, err := writeOverlay(strings.TrimSpace(string(goroot)), dir)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command(b.goTool, append(args, "-o", output, b.pkg)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stdout, cmd.Stderr = b.stderr, b.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// finish edits the linked module and checks it.
func (b *build) finish(module []byte) ([]byte, error) {
	module, err := drop(module)
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(map[string]string{"version": b.version, "commit": b.commit})
	if err != nil {
		return nil, err
	}
	module, err = wasmfile.AddCustom(module, VersionSection, info)
	if err != nil {
		return nil, err
	}
	file, err := wasmfile.Parse(module)
	if err != nil {
		return nil, err
	}
	if !b.plainRuntime {
		if err := errors.Join(wasmfile.CheckImports(file.Imports)...); err != nil {
			return nil, fmt.Errorf("an Envoy could not load the module: %w", err)
		}
	}
	return module, nil
}

// drop removes the unwanted exports that the module has.
func drop(module []byte) ([]byte, error) {
	file, err := wasmfile.Parse(module)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(unwanted(), func(name string) bool { return !file.HasExport(name) })
	return wasmfile.DropExports(module, names...)
}

// write replaces the output in one step and leaves an equal file alone, so that
// a proxy that watches it is not disturbed.
func (b *build) write(module []byte) error {
	if old, err := os.ReadFile(b.output); err == nil && bytes.Equal(old, module) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.output), 0o755); err != nil {
		return err
	}
	temporary := b.output + ".new"
	if err := os.WriteFile(temporary, module, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, b.output)
}
