// Command soak shows that nothing grows and nothing leaks over very many
// requests: through a real Envoy or hostsim, with failures mixed in. It prints a
// Markdown report and exits with 1 when something grew or went otherwise than
// asked for, with 2 on wrong usage. It needs what `make wasm build envoys` makes.
//
// `make soak SOAK_FLAGS=--plain-runtime` puts a module with Go's own network poller
// through the same, to show what the overlay of cmd/wasmbuild is for (W01): what
// becomes of each host is printed, and the exit code is 0 whatever it is.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/pointsman/pointsman/e2e/engineproc"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/e2e/soak"
	"github.com/pointsman/pointsman/e2e/soak/engine"
	"github.com/pointsman/pointsman/e2e/soak/stage"
)

type cli struct {
	Run     runCmd     `cmd:"" default:"withargs" help:"Run and print a report."`
	Engines enginesCmd `cmd:"" hidden:"" help:"Serve engines until stopped; used by run."`
	Hostsim hostsimCmd `cmd:"" hidden:"" help:"Run the filter in hostsim until stopped; used by run."`
}

type runCmd struct {
	Requests     int      `default:"1000000" help:"Requests through each host."`
	Large        int      `default:"200" help:"Of them with a body of 32 MiB."`
	Seed         uint64   `default:"1" help:"Fixes what becomes of every request."`
	Harsh        int      `default:"1" help:"Multiplies the shares of failures, refusals and aborts, up to ${harsh}."`
	Clients      int      `default:"32" help:"Requests at a time."`
	Engines      int      `default:"4" help:"Fake engines."`
	Threads      int      `default:"1" help:"Worker threads of the host."`
	Envoy        []string `default:"${envoys}" help:"Versions of Envoy."`
	Host         string   `enum:"envoy,hostsim" default:"envoy" help:"envoy, or hostsim with the WASI functions of those versions."`
	Calls        string   `enum:"none,http,stream" default:"none" help:"Have every request ask the state service for its session's engine: none, http or stream (state.call_stream)."`
	PlainRuntime bool     `help:"Build the filter without the runtime overlay and show what happens. Always exits with 0."`
	Filter       string   `default:"dist/filter.wasm" help:"The filter."`
	State        string   `default:"bin/statesvc" help:"The state service."`
	Root         string   `default:"." help:"Root of the repository."`
}

type enginesCmd struct {
	Count int `default:"1" help:"Number of engines."`
}

type hostsimCmd struct {
	stage.Simulated
}

var errBad = errors.New("see the report")

// Validate implements kong's check of a command line.
func (c *runCmd) Validate() error {
	if c.Requests < 1 || c.Clients < 1 || c.Engines < 1 || c.Threads < 1 || c.Large < 0 || c.Large > c.Requests {
		return errors.New("give at least one request, client, engine and thread, and no more large bodies than requests")
	}
	if c.Harsh < 1 || c.Harsh > soak.MaxHarsh {
		return fmt.Errorf("--harsh %d: use 1 to %d", c.Harsh, soak.MaxHarsh)
	}
	return nil
}

// Run serves engines.
func (c *enginesCmd) Run(ctx context.Context) error {
	s, err := engine.Start(c.Count)
	if err != nil {
		return err
	}
	return engineproc.Serve(ctx, s, os.Stdout)
}

// Run runs the filter in hostsim.
func (c *hostsimCmd) Run(ctx context.Context) error {
	return stage.ServeHostsim(ctx, c.Simulated, os.Stdout)
}

// Run runs one soak after the other.
func (c *runCmd) Run(ctx context.Context) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	if c.PlainRuntime {
		dir, err := os.MkdirTemp("", "soak-plain-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if options.Stage.Filter, err = buildPlain(ctx, options.Stage.Root, dir); err != nil {
			return err
		}
	}
	bad := false
	for _, version := range c.Envoy {
		options.Stage.Version = version
		good, err := c.one(ctx, options)
		if err != nil {
			return err
		}
		bad = bad || !good
	}
	if bad && !c.PlainRuntime {
		return errBad
	}
	return nil
}

// one runs one soak and prints its report. That a host did not survive a filter
// without the overlay is a result like another.
func (c *runCmd) one(ctx context.Context, o soak.Options) (good bool, err error) {
	report, err := soak.Run(ctx, o)
	if err != nil && c.PlainRuntime && ctx.Err() == nil {
		fmt.Printf("**%s: %v**\n\n", o.Stage.Version, err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	command := "soak " + strings.Join(os.Args[1:], " ")
	return len(report.Problems()) == 0, report.Write(os.Stdout, command)
}

func (c *runCmd) options() (soak.Options, error) {
	o := soak.Options{
		Plan:    soak.Plan{Requests: c.Requests, Large: c.Large, Seed: c.Seed, Harsh: c.Harsh},
		Clients: c.Clients, Progress: os.Stderr,
		Stage: stage.Options{Hostsim: c.Host == "hostsim", Threads: c.Threads, Engines: c.Engines, Calls: c.Calls},
	}
	var errs [4]error
	o.Stage.Self, errs[0] = os.Executable()
	o.Stage.Root, errs[1] = filepath.Abs(c.Root)
	o.Stage.Filter, errs[2] = filepath.Abs(c.Filter)
	o.Stage.State, errs[3] = filepath.Abs(c.State)
	return o, errors.Join(errs[:]...)
}

// buildPlain builds the filter with Go's own poller.
func buildPlain(ctx context.Context, root, dir string) (string, error) {
	path := filepath.Join(dir, "plain.wasm")
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/wasmbuild", "-plain-runtime", "-o", path)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the filter without the overlay: %w: %s", err, out)
	}
	return path, nil
}

func main() { os.Exit(run(os.Stderr)) }

func run(stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parser, err := kong.New(&cli{}, kong.Name("soak"), kong.Description("Shows that nothing grows and nothing leaks over very many requests."),
		kong.Vars{"envoys": strings.Join(envoytest.Versions(), ","), "harsh": strconv.Itoa(soak.MaxHarsh)}, kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	parsed, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 1
	}
	return 0
}
