package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

// Options say what to measure and how thoroughly.
type Options struct {
	Parts rig.Parts
	// Rounds is how often each comparison is repeated. Figures for others to
	// read need at least 5.
	Rounds int
	// Scale multiplies the number of requests of each round; 1 is thousands of
	// small requests over all rounds.
	Scale float64
	// Workers and Bodies are the sizes in the sections requests, builds and
	// memory; empty is all.
	Workers, Bodies []int
	// Peers lets sections that compare policies run other routers as well.
	Peers bool
	// Builds are further builds of the filter to compare in section "builds".
	Builds []string
	// Command is what a person types to get the tables.
	Command string
	// Progress is told what is being measured; nil is nobody.
	Progress io.Writer
}

// Sections are the parts of the suite in their order, by the names that Run takes.
func Sections() []string {
	return []string{"requests", "sessions", "history", "streams", "latency", "memory", "sync", "guest", "core", "index", "tokenize", "observe", "turns", "cacheload", "hotprompt", "peers", "peerscache", "builds"}
}

// suite is one run.
type suite struct {
	Options
	out io.Writer
}

// Run measures the sections and writes their tables to out, each as soon as it
// is complete. It stops everything it started.
func Run(ctx context.Context, o Options, sections []string, out io.Writer) error {
	scratch, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	o.Parts.Scratch = scratch
	if o.Parts.Patience == 0 {
		o.Parts.Patience = 2 * time.Minute
	}
	s := &suite{Options: o, out: out}
	known := map[string]func(context.Context) error{
		"requests": s.requests, "sessions": s.sessions, "history": s.history, "streams": s.streams, "latency": s.latency, "memory": s.memory,
		"sync": s.sync, "guest": s.guest, "core": s.core, "index": s.index, "tokenize": s.tokenize, "peers": s.peers, "peerscache": s.peersCache,
		"observe": s.observe, "turns": s.turns, "cacheload": s.cacheLoad, "hotprompt": s.hotPrompt, "builds": s.builds,
	}
	fmt.Fprintf(out, "Machine: %d processors, %s/%s, %s. Figures are medians over %d interleaved rounds (first to third quartile); ratios and differences are taken within a round.\n\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), o.Rounds)
	for _, name := range sections {
		measure := known[name]
		if measure == nil {
			return fmt.Errorf("there is no section %q", name)
		}
		if err := measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// count scales a number of requests.
func (s *suite) count(n int) int { return max(8, int(float64(n)*s.Scale)) }

func (s *suite) progress(format string, args ...any) {
	if s.Progress != nil {
		fmt.Fprintf(s.Progress, format+"\n", args...)
	}
}

// table begins a table of a section.
func (s *suite) table(section, title, target string, columns ...string) *table.Table {
	return &table.Table{Title: title, Command: s.Command + " SECTIONS=" + section, Target: target, Columns: columns}
}

// bytesText writes a size as people say it.
func bytesText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

func micros(d time.Duration, per int) float64 {
	return float64(d.Nanoseconds()) / 1e3 / float64(per)
}

// Quick makes a run short: it shows that everything works, and its figures are
// rough.
func Quick(o Options) Options {
	o.Rounds, o.Scale = 2, 0.1
	o.Workers, o.Bodies = []int{4, 100}, []int{4 << 10, 64 << 10}
	return o
}
