// Command bench measures what Pointsman costs and prints Markdown tables. It
// needs what `make wasm build envoys` makes and, for the section peers, what
// `make bench-tools` installs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pointsman/pointsman/e2e/bench"
	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/engineproc"
	"github.com/pointsman/pointsman/e2e/envoytest"
)

type cli struct {
	Run     runCmd     `cmd:"" default:"withargs" help:"Measure and print tables."`
	Engines enginesCmd `cmd:"" hidden:"" help:"Serve engines until stopped; used by run."`
}

type runCmd struct {
	Sections []string `placeholder:"NAME,..." help:"Sections to measure: ${sections}. Default: all but builds and those of peers."`
	Quick    bool     `help:"Two short rounds of few sizes: shows that everything works, not figures to keep."`
	Peers    bool     `help:"Put other routers under the same load: the sections peers and peerscache, and rows of cacheload and hotprompt."`
	Builds   []string `placeholder:"FILE,..." help:"Compare the filter with other builds of it: the section builds and no other."`
	Rounds   int      `default:"15" help:"Rounds of each comparison."`
	Workers  []int    `help:"Sizes of fleet in the sections requests, builds and memory."`
	Bodies   []int    `help:"Body sizes in bytes in the sections requests and builds."`
	Envoy    string   `default:"${envoy}" help:"Version of Envoy."`
	Filter   string   `default:"dist/filter.wasm" help:"The filter."`
	State    string   `default:"bin/statesvc" help:"The state service."`
	Root     string   `default:"." help:"Root of the repository."`
}

type enginesCmd struct {
	Count    int           `default:"1" help:"Number of engines."`
	Interval time.Duration `help:"Time between the chunks of a stream."`
	Cached   string        `help:"Engines with prefix caches, described in JSON."`
}

// Run serves engines.
func (c *enginesCmd) Run(ctx context.Context) error {
	if c.Cached != "" {
		s, err := cached.Start(c.Cached)
		if err != nil {
			return err
		}
		return engineproc.Serve(ctx, s, os.Stdout)
	}
	s, err := engine.Start(engine.Config{Engines: c.Count, Interval: c.Interval})
	if err != nil {
		return err
	}
	return engineproc.Serve(ctx, s, os.Stdout)
}

// Run measures.
func (c *runCmd) Run(ctx context.Context) error {
	parts, err := c.parts()
	if err != nil {
		return err
	}
	o := bench.Options{
		Parts: parts, Rounds: c.Rounds, Scale: 1, Workers: c.Workers, Bodies: c.Bodies, Builds: c.Builds,
		Peers: c.Peers, Command: "make bench", Progress: os.Stderr,
	}
	if c.Quick {
		o = bench.Quick(o)
	}
	return bench.Run(ctx, o, c.sections(), os.Stdout)
}

func (c *runCmd) sections() []string {
	if len(c.Sections) > 0 {
		return c.Sections
	}
	if len(c.Builds) > 0 {
		return []string{"builds"}
	}
	return slices.DeleteFunc(bench.Sections(), func(name string) bool { return name == "builds" || strings.HasPrefix(name, "peers") && !c.Peers })
}

func (c *runCmd) parts() (rig.Parts, error) {
	self, err := os.Executable()
	if err != nil {
		return rig.Parts{}, err
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return rig.Parts{}, err
	}
	filter, err := filepath.Abs(c.Filter)
	if err != nil {
		return rig.Parts{}, err
	}
	state, err := filepath.Abs(c.State)
	if err != nil {
		return rig.Parts{}, err
	}
	envoy, err := envoytest.FindBinary(root, c.Envoy)
	return rig.Parts{
		Root: root, Engines: []string{self, "engines"}, State: state, Filter: filter, Envoy: envoy,
		Tokenizer: filepath.Join(root, ".tokenizers", "qwen3"),
		SGLang:    filepath.Join(root, ".venv-peers-sglang", "bin"), VLLM: filepath.Join(root, ".venv-peers-vllm", "bin"),
	}, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed := kong.Parse(&cli{}, kong.Name("bench"), kong.Description("Measures what Pointsman costs."),
		kong.Vars{"sections": strings.Join(bench.Sections(), ", "), "envoy": envoytest.Versions()[0]},
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
