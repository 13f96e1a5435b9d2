package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

type doctorCmd struct {
	EnvoyVersion string   `help:"The release of Envoy, for files that do not say theirs; a configuration dump does." placeholder:"1.36.4"`
	JSON         bool     `help:"Print the report as JSON." name:"json"`
	Rules        bool     `help:"List all rules, and what each release of Envoy can do, and exit."`
	Files        []string `arg:"" optional:"" name:"file" help:"Files and folders, looked at together; - is stdin."`

	in io.Reader // stdin, for tests; nil is the process's
}

// Help says what is read, with examples.
func (doctorCmd) Help() string {
	return `Reads, in any mix: bootstraps and /config_dump of Envoy, manifests of Istio, Envoy Gateway and the Gateway API,
configurations of the filter (also those inside manifests) and of the state service, and filter.wasm, whose hash is then
compared. It looks at all of them together and reports what would fail in silence. Nothing is sent anywhere.

Exit code 1 means that there is an error among the findings, or nothing to look at, 2 that the command line is wrong.

Examples:
  hostsim doctor configs/envoy/override-host.yaml
  hostsim doctor --envoy-version 1.36.4 bootstrap.yaml statesvc.yaml dist/filter.wasm
  curl -s localhost:9901/config_dump | hostsim doctor -
  hostsim render istio --config filter.json --state statesvc.llm.svc:9090 --engine engines.llm.svc:8000 \
    --wasm /var/lib/pointsman/filter.wasm | hostsim doctor -
  hostsim doctor --json manifests/ | jq '.findings[] | select(.severity == "error")'`
}

// Run looks at the files and prints the report.
func (c *doctorCmd) Run(con console) error {
	if c.Rules {
		_, err := io.WriteString(con.out, doctor.Table())
		return err
	}
	if len(c.Files) == 0 {
		return usageError{errors.New("name the files to look at, or - for stdin")}
	}
	options := doctor.Options{ReadFile: readBounded}
	if c.EnvoyVersion != "" {
		v, err := doctor.ParseVersion(c.EnvoyVersion)
		if err != nil {
			return usageError{fmt.Errorf("--envoy-version: %w", err)}
		}
		options.Version = &v
	}
	inputs, err := c.inputs()
	if err != nil {
		return err
	}
	report := doctor.Examine(inputs, options)
	if report.Looked == 0 && len(report.Findings) == 0 {
		return fmt.Errorf("nothing to look at in %s", strings.Join(c.Files, ", "))
	}
	if err := c.print(con.out, report); err != nil {
		return err
	}
	if n := report.Count(doctor.Error); n > 0 {
		return fmt.Errorf("errors: %d", n)
	}
	return nil
}

func (c *doctorCmd) print(w io.Writer, report *doctor.Report) error {
	if !c.JSON {
		return report.WriteText(w)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// inputs reads what the command line names. What cannot be read becomes a finding, so
// that the rest is looked at.
func (c *doctorCmd) inputs() ([]doctor.Input, error) {
	var list []doctor.Input
	for _, name := range c.Files {
		if name == "-" {
			data, err := bounded(c.stdin())
			list = append(list, doctor.Input{Name: "stdin", Data: data, Err: err, Asked: true})
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			list = append(list, doctor.Input{Name: name, Err: err, Asked: true})
			continue
		}
		if !info.IsDir() {
			data, err := readBounded(name)
			list = append(list, doctor.Input{Name: name, Data: data, Err: err, Asked: true})
			continue
		}
		found, err := doctor.Collect(os.DirFS(name))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			path := filepath.Join(name, f)
			data, err := readBounded(path)
			list = append(list, doctor.Input{Name: path, Data: data, Err: err})
		}
	}
	return list, nil
}

func (c *doctorCmd) stdin() io.Reader {
	if c.in != nil {
		return c.in
	}
	return os.Stdin
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded(f)
}

// bounded reads a little more than doctor takes, so that it can say so.
func bounded(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, tree.MaxJSON+1))
}
