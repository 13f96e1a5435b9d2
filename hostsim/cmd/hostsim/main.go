// Command hostsim runs filter.wasm without Envoy: as a reverse proxy, with an
// embedded demo fleet if asked, looks into wasm modules, turns command lines of
// sgl-router into configurations and those into manifests for proxies, and looks at
// manifests before they are deployed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
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
	Render   renderCmd        `cmd:"" help:"Write the manifests for a proxy from a filter configuration."`
	Doctor   doctorCmd        `cmd:"" help:"Look at manifests and configurations, and report what would fail in silence."`
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
  hostsim convert -- --model-id demo --worker-urls http://10.0.0.7:8000
  hostsim render envoy --config filter.json --state 10.0.0.5:9090 --engine 10.0.0.7:8000
  hostsim doctor envoy.yaml statesvc.yaml`

// usageError is a mistake in the command line.
type usageError struct{ error }

func doMain(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("hostsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }), kong.Vars{"version": version},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(console{stdout, stderr}))
	if err != nil {
		return report(stderr, "", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	switch {
	case exited == exitGood:
		return exitGood
	case err != nil:
		if flag, number, ok := negative(args); ok {
			err = fmt.Errorf("%s %s: a negative number is no choice", flag, number)
		}
		if args[0] == "convert" && !slices.Contains(args, "--") {
			err = fmt.Errorf("%w; flags of sgl-router come after --, as in hostsim convert -- --model-id demo", err)
		}
		return report(stderr, helpOf(parser, args), usageError{err})
	}
	if err := twice(parsed); err != nil {
		return report(stderr, helpOf(parser, args), usageError{err})
	}
	return report(stderr, helpOf(parser, args), parsed.Run())
}

// report prints an error and gives the exit code for it. help is the command whose
// help a wrong command line points to.
func report(stderr io.Writer, help string, err error) int {
	if err == nil {
		return exitGood
	}
	_, usage := errors.AsType[usageError](err)
	text, code := strings.TrimSpace(err.Error()), exitBad
	if usage {
		text, code = text+"; see hostsim "+help+"--help", exitUsage
	}
	fmt.Fprintf(stderr, "hostsim: %s\n", text)
	return code
}

// helpOf names the command of a command line, with a space after it, so that a
// mistake points to the help of its own command.
func helpOf(parser *kong.Kong, args []string) string {
	for _, c := range parser.Model.Children {
		if len(args) > 0 && c.Name == args[0] {
			return c.Name + " "
		}
	}
	return ""
}

// twice refuses a flag that stands twice and has one value: the parser takes the last
// one and says nothing.
func twice(parsed *kong.Context) error {
	seen := map[*kong.Flag]bool{}
	for _, p := range parsed.Path {
		f := p.Flag
		switch {
		case f == nil || f.IsSlice() || f.IsMap():
		case seen[f]:
			return fmt.Errorf("--%s stands twice, and has one value", f.Name)
		default:
			seen[f] = true
		}
	}
	return nil
}

// negative gives the argument that is a negative number and stands after a flag that
// wants one: the parser takes it for a short flag and says nothing of use.
func negative(args []string) (flag, number string, ok bool) {
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		if _, err := strconv.ParseFloat(args[i], 64); err == nil && strings.HasPrefix(args[i], "-") && strings.HasPrefix(args[i-1], "--") {
			return args[i-1], args[i], true
		}
	}
	return "", "", false
}
