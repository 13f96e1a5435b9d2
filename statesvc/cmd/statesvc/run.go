package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/kube"
)

const (
	exitGood  = 0
	exitBad   = 1
	exitUsage = 2
)

// version is set by the linker.
var version = "dev"

const description = `The state service watches the engines, adds up what the filters have in flight, and tells every filter context the fleet and its load.

Examples:

  statesvc --config configs/statesvc/demo.yaml

  POINTSMAN_STATE_TOKEN=secret statesvc --config state.yaml    (with token_env in the file)

  statesvc --config state.yaml --check                         (checks it and what it names, and exits)

  statesvc kv replay --frames frames.jsonl                     (what an engine's events mean; kv replay --help)`

// arguments is the command line.
type arguments struct {
	Serve   serveArguments   `cmd:"" default:"withargs" help:"Serve until stopped. This is the default."`
	KV      kvArguments      `cmd:"" name:"kv" help:"Look into KV events."`
	Version kong.VersionFlag `help:"Print the version and exit."`
}

// serveArguments is what the service is run with.
type serveArguments struct {
	Config   string     `required:"" placeholder:"FILE" help:"Configuration in YAML. configs/statesvc/reference.yaml shows every setting."`
	Check    bool       `help:"Check the configuration, the files and the tokenizers that it names, and exit."`
	LogLevel slog.Level `default:"info" placeholder:"LEVEL" help:"debug, info, warn or error."`
}

// doMain is main with everything it touches as arguments. ctx ends on the first
// signal; restore gives signals their default effect back, so that a second one
// kills a stop that hangs.
func doMain(ctx context.Context, restore func(), argv []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var args arguments
	exit := -1
	parser, err := kong.New(&args,
		kong.Name("statesvc"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }),
		kong.Vars{"version": version},
	)
	if err != nil {
		return complain(stderr, err, exitUsage)
	}
	parsed, err := parser.Parse(argv)
	switch {
	case exit >= 0: // --help or --version
		return exit
	case err != nil:
		return complain(stderr, fmt.Errorf("%w; see statesvc --help", err), exitUsage)
	case parsed.Command() == replayCommand:
		return args.KV.Replay.run(stdout, stderr)
	}
	return args.Serve.run(ctx, restore, getenv, stderr)
}

// run serves, or only checks the configuration.
func (a *serveArguments) run(ctx context.Context, restore func(), getenv func(string) string, stderr io.Writer) int {
	if a.Check {
		if _, err := config.Examine(a.Config, getenv, check); err != nil {
			return complain(stderr, err, exitBad)
		}
		return exitGood
	}
	cfg, err := config.Read(a.Config, getenv)
	if err != nil {
		return complain(stderr, err, exitBad)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: a.LogLevel}))
	err = serve(ctx, restore, cfg, log)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		err = fmt.Errorf("%s: %w", a.Config, problems)
	}
	if err != nil {
		return complain(stderr, err, exitBad)
	}
	return exitGood
}

func complain(stderr io.Writer, err error, code int) int {
	_, _ = fmt.Fprintf(stderr, "statesvc: %v\n", err)
	return code
}

// serve runs the service until ctx ends or it fails by itself.
func serve(ctx context.Context, restore func(), cfg *config.Config, log *slog.Logger) error {
	service, err := statesvc.New(cfg, statesvc.Options{Logger: log, Version: version, Kubernetes: openKubernetes})
	if err != nil {
		return err
	}
	if err := service.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-service.Failed():
	}
	restore()
	return errors.Join(err, service.Stop(context.Background()))
}

func openKubernetes(cfg *config.Config, sink claims.Sink, log *slog.Logger) (statesvc.Source, error) {
	return kube.Open(cfg, sink, log)
}

// check looks at what a configuration names.
func check(cfg *config.Config) config.Problems {
	return append(statesvc.Check(cfg), kube.Check(cfg)...)
}
