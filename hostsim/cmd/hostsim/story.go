package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/story"
)

type storyCmd struct {
	Files   []string `arg:"" help:"The stories." placeholder:"FILE.story" name:"file"`
	Backend string   `help:"Where the filter runs: native steps its core, wasm runs the module." enum:"native,wasm" default:"wasm"`
	Filter  string   `help:"The module, for --backend wasm." default:"dist/filter.wasm" placeholder:"FILE.wasm"`
	Rewrite bool     `help:"Write the outputs into the files instead of comparing."`
}

// Help gives examples.
func (storyCmd) Help() string {
	return `hostsim/story/README.md describes the language. Exit code 1 means that an output differs.

Examples:
  hostsim story e2e/stories/*.story
  hostsim story --backend native --rewrite my.story`
}

// Run plays the files and fails if an output is not what its file says.
func (c *storyCmd) Run(ctx context.Context, con console) error {
	host, stop, err := c.host(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var problems []error
	for _, name := range c.Files {
		if err := c.play(con, host, name); err != nil {
			problems = append(problems, err)
		}
	}
	return joined(problems)
}

// host makes the backend. stop frees it.
func (c *storyCmd) host(ctx context.Context) (host story.Host, stop func(), err error) {
	if c.Backend == "native" {
		return story.Native{}, func() {}, nil
	}
	code, err := os.ReadFile(c.Filter)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; build it with \"make wasm\" or use --backend native", err)
	}
	module, err := hostsim.Load(ctx, code, hostsim.ModuleOptions{Profile: hostsim.Envoy133})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Filter, err)
	}
	return story.Wasm{Module: module}, func() { _ = module.Close(ctx) }, nil
}

func (c *storyCmd) play(con console, host story.Host, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := story.Parse(name, string(text))
	if err != nil {
		return err
	}
	outputs, err := file.Run(host)
	if err != nil {
		return err
	}
	if c.Rewrite {
		return rewrite(con, name, string(text), file.Format(outputs))
	}
	differences := file.Compare(outputs)
	for _, d := range differences {
		fmt.Fprint(con.out, d)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%s: %d of %d steps differ; look at the lines with - and +, and take them over with --rewrite", name, len(differences), len(file.Steps))
	}
	fmt.Fprintf(con.out, "ok    %s (%d steps)\n", name, len(file.Steps))
	return nil
}

func rewrite(con console, name, before, after string) error {
	if before == after {
		fmt.Fprintf(con.out, "same  %s\n", name)
		return nil
	}
	fmt.Fprintf(con.out, "wrote %s\n", name)
	return os.WriteFile(name, []byte(after), 0o644)
}
