// Command kvsoak runs the KV index with very many engines that come, go and start anew,
// and prints a Markdown report. It exits with 1 when the budget did not hold, something
// grew or a lookup was wrong, with 2 on wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pointsman/pointsman/e2e/soak/kv"
)

type cli struct {
	Engines    int           `default:"1000" help:"Engines."`
	Blocks     int           `default:"1000" help:"Blocks of each."`
	Budget     int64         `default:"0" help:"Bytes of the index; 0 is 100 for each block."`
	Duration   time.Duration `default:"5m" help:"Of the churn."`
	Rounds     int           `default:"20" help:"Rounds, half of each with nothing written."`
	ChurnEvery int           `default:"200" help:"Of so many requests one restarts its engine, one finds it removed, one empties it."`
	Seed       uint64        `default:"1" help:"Fixes the order of things."`
}

// Validate implements kong's check of a command line.
func (c *cli) Validate() error {
	if c.Engines < 1 || c.Rounds < 1 || c.ChurnEvery < 3 || c.Budget < 0 || c.Duration <= 0 {
		return errors.New("give at least one engine and round, churn of every 3 requests or more, and a duration")
	}
	if c.Blocks < kv.LeastBlocks {
		return fmt.Errorf("--blocks %d: a prompt of the soak needs %d", c.Blocks, kv.LeastBlocks)
	}
	return nil
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(argv []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("kvsoak"), kong.Description("Soaks the KV index with very many engines and churn."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }))
	if err == nil {
		_, err = parser.Parse(argv)
	}
	switch {
	case exit >= 0:
		return exit
	case err != nil:
		fmt.Fprintln(stderr, "kvsoak:", err)
		return 2
	}
	report, err := kv.Run(ctx, kv.Options{
		Engines: c.Engines, Blocks: c.Blocks, Budget: c.Budget, Duration: c.Duration, Rounds: c.Rounds,
		ChurnEvery: c.ChurnEvery, Seed: c.Seed, Progress: stderr,
	})
	if err == nil {
		err = report.Write(stdout, strings.Join(append([]string{"kvsoak"}, argv...), " "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "kvsoak:", err)
		return 1
	}
	if len(report.Problems()) > 0 {
		return 1
	}
	return 0
}
