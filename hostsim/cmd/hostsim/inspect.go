package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// versionSection is where the build writes its version (see cmd/wasmbuild).
const versionSection = "pointsman"

type inspectCmd struct {
	File string `arg:"" help:"The module." placeholder:"FILE.wasm"`
}

// Help gives examples.
func (inspectCmd) Help() string {
	return `Exit code 1 means that an Envoy from 1.33 on could not load the module or would lose it.

Example:
  hostsim inspect dist/filter.wasm`
}

// Run prints what the module is and fails if an Envoy could not run it.
func (c *inspectCmd) Run(con console) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	file, err := wasmfile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s\n", c.File)
	fmt.Fprintf(w, "size\t%d bytes\n", len(data))
	if abi, ok := file.ABIVersion(); ok {
		fmt.Fprintf(w, "abi\t%s\n", abi)
	} else {
		fmt.Fprintf(w, "abi\tnone: not a proxy-wasm module\n")
	}
	var build struct{ Version, Commit string }
	if raw, ok := file.Custom(versionSection); ok && json.Unmarshal(raw, &build) == nil {
		fmt.Fprintf(w, "build\t%q (%q)\n", build.Version, build.Commit)
	}
	for _, i := range file.Imports {
		fmt.Fprintf(w, "import\t%s\n", i)
	}
	for _, e := range file.Exports {
		fmt.Fprintf(w, "export\t%s\n", e.Name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return verdict(file)
}

// verdict lists what keeps the module from running, nil when nothing does.
func verdict(file *wasmfile.File) error {
	problems := wasmfile.CheckImports(file.Imports)
	if _, ok := file.ABIVersion(); !ok {
		problems = append(problems, errors.New("no proxy_abi_version export: no proxy-wasm host takes the module"))
	}
	return joined(problems)
}
