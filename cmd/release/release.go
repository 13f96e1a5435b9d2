package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// release is what is built and where to.
type release struct {
	dir             string
	version, commit string
	platforms       []platform // of the tools; none leaves them out
	goTool          string
	stdout, stderr  io.Writer
}

// platform is a system that the tools are built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// platforms are those that people run a proxy or try hostsim on.
func platforms() []platform {
	return []platform{
		{"linux", "amd64"},
		{"linux", "arm64"},
		{"darwin", "arm64"},
	}
}

// Packages of what is released.
const (
	filterPackage   = "./wasmfilter"
	statesvcPackage = "./statesvc/cmd/statesvc"
	hostsimPackage  = "./hostsim/cmd/hostsim"
)

// run builds all of it, in a folder next to the one it then takes the place of:
// a release that failed half-way is never seen.
func (r *release) run() error {
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(r.dir), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(building)
	final := r.dir
	r.dir = building
	defer func() { r.dir = final }()
	for _, step := range []func() error{r.filter, r.tools, r.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Chmod(building, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(building, final); err != nil {
		return err
	}
	return r.say("%s is complete; check it with: cd %s && sha256sum -c %s", final, final, sumsFile)
}

// filter makes filter.wasm, its image and its bill of materials.
func (r *release) filter() error {
	if err := r.say("building filter.wasm"); err != nil {
		return err
	}
	module := r.path("filter.wasm")
	err := r.goRun(nil, "run", "./cmd/wasmbuild", "-o", module, "-version", r.version, "-commit", r.commit)
	if err != nil {
		return err
	}
	if err := r.bill(filterPackage, platform{"wasip1", "wasm"}, "filter"); err != nil {
		return err
	}
	return r.filterImage(module)
}

// tools makes the state service and hostsim for every platform, and the image
// of the state service for those that clusters run.
func (r *release) tools() error {
	var services []builtService
	for _, p := range r.platforms {
		if err := r.say("building statesvc and hostsim for %s", p); err != nil {
			return err
		}
		for _, pkg := range []string{statesvcPackage, hostsimPackage} {
			if err := r.tool(pkg, p); err != nil {
				return err
			}
		}
		if p.os == "linux" {
			services = append(services, builtService{p, r.path(toolFile(statesvcPackage, p))})
		}
	}
	if len(services) == 0 {
		return nil
	}
	return r.statesvcImage(services)
}

func (r *release) tool(pkg string, p platform) error {
	file := toolFile(pkg, p)
	env := []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}
	err := r.goRun(env, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version="+r.version, "-o", r.path(file), pkg)
	if err != nil {
		return err
	}
	return r.bill(pkg, p, file)
}

// toolFile names the program of a package for a platform.
func toolFile(pkg string, p platform) string { return filepath.Base(pkg) + "-" + p.String() }

func (r *release) path(name string) string { return filepath.Join(r.dir, name) }

// say prints progress.
func (r *release) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.stdout, format+"\n", args...)
	return err
}

// goRun runs the Go tool with more environment.
func (r *release) goRun(env []string, args ...string) error {
	cmd := exec.Command(r.goTool, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = r.stderr, r.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
