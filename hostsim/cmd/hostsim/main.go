// Command hostsim runs filter.wasm without Envoy: as a reverse proxy, with an
// embedded demo fleet if asked, looks into wasm modules, and turns command lines
// of sgl-router into configurations.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes of the tool (design section 8).
const (
	exitGood  = 0
	exitBad   = 1 // the checked or served thing is bad
	exitUsage = 2
)

// version is set by the linker.
var version = "dev"

type cli struct {
	Serve    serveCmd         `cmd:"" help:"Serve HTTP through filter.wasm, as a proxy with the filter would."`
	Story    storyCmd         `cmd:"" help:"Play scripted scenarios against the filter on a virtual clock."`
	Simulate simulateCmd      `cmd:"" help:"Compare policies on a workload, on a virtual clock."`
	Inspect  inspectCmd       `cmd:"" help:"Show what a wasm module imports, exports and is."`
	Convert  convertCmd       `cmd:"" help:"Turn the flags of sgl-router into a filter configuration."`
	Version  kong.VersionFlag `help:"Print the version and exit."`
}

// console is where a command writes: results to out, progress and logs to err.
type console struct{ out, err io.Writer }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := doMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const description = `Runs filter.wasm without Envoy.

Examples:
  hostsim serve --demo 4                     4 fake engines, a state service, and the filter in front
  hostsim serve --config filter.json --state http://127.0.0.1:9090
  hostsim story e2e/stories/*.story
  hostsim inspect dist/filter.wasm
  hostsim convert -- --model-id demo --worker-urls http://10.0.0.7:8000`

// usageError is a mistake in the command line.
type usageError struct{ error }

func doMain(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("hostsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }), kong.Vars{"version": version},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(console{stdout, stderr}))
	if err != nil {
		return report(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	switch {
	case exited == exitGood:
		return exitGood
	case err != nil:
		if args[0] == "convert" && !slices.Contains(args, "--") {
			err = fmt.Errorf("%w; flags of sgl-router come after --, as in hostsim convert -- --model-id demo", err)
		}
		return report(stderr, usageError{err})
	}
	return report(stderr, parsed.Run())
}

// report prints an error and gives the exit code for it.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitGood
	}
	fmt.Fprintf(stderr, "hostsim: %s\n", strings.TrimSpace(err.Error()))
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	return exitBad
}
