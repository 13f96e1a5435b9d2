package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/simulate"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

type simulateCmd struct {
	Workload string   `help:"session: 200 chats of 8 turns behind 16 system prompts; long: short questions, answers of 8 KB; hot: one shared prompt of 16 KB, in 64 connections." enum:"session,long,hot" default:"session"`
	Policy   []string `help:"The policies to compare: history, local and local_private (cache_aware by what was sent where, by KV events, and by these with private_match), session_aware, consistent_hash (by session), power_of_two, load_based, round_robin, random." default:"history,local,session_aware,power_of_two,round_robin"`
	Engines  int      `help:"Model engines." default:"8"`
	Cache    int      `help:"Characters that an engine caches." default:"1500000"`
	Contexts int      `help:"Filter contexts of the proxy, as Envoy has one for each worker thread." default:"4"`
	Forget   bool     `help:"Engines do not cache what they generate, as the benchmark's mock."`
	Seeds    int      `help:"Runs, each of another seed." default:"1"`
	Filter   string   `help:"The module." default:"dist/filter.wasm" placeholder:"FILE.wasm"`
}

// Help gives examples.
func (simulateCmd) Help() string {
	return `Runs a workload through filter.wasm against model engines, on a virtual clock, and prints how much of the prompts the
engines had cached, how evenly they were used, how many requests a second they answered and how fast. The session workload and the
engines are those of the benchmark of the peers: 2 slots, 5 ms and 4 ms for each 1,000 characters not cached.

Examples:
  hostsim simulate
  hostsim simulate --workload hot --policy history,round_robin
  hostsim simulate --cache 800000 --contexts 1 --seeds 5`
}

// Run simulates each policy and prints the table.
func (c *simulateCmd) Run(ctx context.Context, con console) error {
	if err := c.check(); err != nil {
		return usageError{err}
	}
	code, err := os.ReadFile(c.Filter)
	if err != nil {
		return fmt.Errorf("%w; build it with \"make wasm\"", err)
	}
	module, err := hostsim.Load(ctx, code, hostsim.ModuleOptions{Profile: hostsim.Envoy139})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Filter, err)
	}
	defer func() { _ = module.Close(ctx) }()
	table := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "policy\tseed\trequests\thit rate\tbusiest/mean\treq/s\tp50 ms\tfailed")
	for _, policy := range c.Policy {
		for seed := range uint64(c.Seeds) {
			result, err := c.simulation(policy, seed+1).run(ctx, module)
			if err != nil {
				return fmt.Errorf("%s: %w", policy, err)
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%.3f\t%.2f\t%.0f\t%d\t%d\n",
				policy, seed+1, result.Requests, result.HitRate, result.Busiest, result.PerSecond(), result.Median.Milliseconds(), result.Failed)
		}
	}
	return table.Flush()
}

const maxSimulated = 200

// check names every number that is out of range.
func (c *simulateCmd) check() error {
	var problems []string
	for _, n := range []struct {
		flag        string
		value, most int
	}{
		{"--engines", c.Engines, maxSimulated},
		{"--contexts", c.Contexts, maxSimulated},
		{"--cache", c.Cache, math.MaxInt},
		{"--seeds", c.Seeds, math.MaxInt},
	} {
		switch {
		case n.value >= 1 && n.value <= n.most:
		case n.most == math.MaxInt:
			problems = append(problems, fmt.Sprintf("%s %d: use at least 1", n.flag, n.value))
		default:
			problems = append(problems, fmt.Sprintf("%s %d: use 1 to %d", n.flag, n.value, n.most))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

func (c *simulateCmd) simulation(policy string, seed uint64) simulation {
	s := simulation{policy: policy, engines: c.Engines, contexts: c.Contexts, seed: seed, engine: sessionEngine(c.Cache)}
	switch c.Workload {
	case "long":
		s.workload = traffic.LongAnswers(simulatedModel, seed).Start()
		s.engine.Answers = !c.Forget
	case "hot":
		s.workload = hotPrompt(seed).Start()
		s.engine = hotEngine()
	default:
		s.workload = traffic.SessionChats(simulatedModel, seed).Start()
	}
	return s
}

// sessionEngine is an engine of the peers' session benchmark.
func sessionEngine(cache int) simulate.Engine {
	return simulate.Engine{Slots: 2, Fixed: 5 * time.Millisecond, PerKilo: 4 * time.Millisecond, Cache: cache}
}

// hotPrompt and hotEngine are those of the peers' finding 4, with a prompt of 16 KB.
func hotPrompt(seed uint64) traffic.Hot {
	return traffic.Hot{Model: simulatedModel, Bytes: 16 << 10, Requests: 1500, Seed: seed}
}

func hotEngine() simulate.Engine {
	return simulate.Engine{Slots: 4, Fixed: 50 * time.Millisecond, Cache: 1_500_000}
}

// shipped ends the settings of cache_aware as configs/filter has them: history is that
// of cache-aware-by-history.json, local_private that of cache-aware.json.
const shipped = `"min_matched_tokens": 256, "admission": {"max_inflight_requests": 64}}`

// policyConfig is the policy's part of a configuration.
func policyConfig(name string) (string, error) {
	switch name {
	case "history":
		return `{"type": "cache_aware", "source": "history", ` + shipped, nil
	case "local":
		return `{"type": "cache_aware", "source": "local", ` + shipped, nil
	case "local_private":
		return `{"type": "cache_aware", "source": "local", "private_match": true, ` + shipped, nil
	case "consistent_hash":
		return `{"type": "consistent_hash", "key": "session"}`, nil
	case "session_aware", "power_of_two", "load_based", "round_robin", "random":
		return `{"type": "` + name + `"}`, nil
	}
	return "", usageError{fmt.Errorf("no policy to simulate; use %s", strings.Join([]string{
		"history", "local", "local_private", "session_aware", "consistent_hash", "power_of_two", "load_based", "round_robin", "random",
	}, ", "))}
}
