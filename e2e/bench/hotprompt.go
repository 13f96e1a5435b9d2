package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// hotRounds bounds how often the hot prompt is sent to every router.
const hotRounds = 3

// hotPrompt sends one prompt that all requests share half of through cache-aware
// routers, and through the same routers in rotation.
func (s *suite) hotPrompt(ctx context.Context) error {
	t := s.table("hotprompt", "One hot prompt: requests/s against the same router in rotation",
		"cache-aware by history at least 0.9 of round_robin",
		"body", "router", "requests/s", "/ its round_robin", "busiest / mean", "p50, ms")
	t.Notes = []string{fmt.Sprintf("Half of every prompt is the same text, the rest its own; %d connections, each with a request at a time; %d engines of 4 slots that answer after 50 ms and answer /tokenize, which local and vllm-router ask. Each round begins with empty caches. %d rounds at most.", cachedConnections, cachedEngines, hotRounds)}
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartCached(cached.Hot(cachedEngines))
	if err != nil {
		return err
	}
	running, targets, err := s.startAll(r, fleet, []router{
		ours(rig.EnvoyOptions{Policy: roundRobin}), byHistory(), byEvents(), byOwnersRules(),
		sglang(roundRobin), sglang(cacheAware), vllm(roundRobin), vllm(cacheAware),
	})
	if err != nil {
		return err
	}
	for _, body := range []int{16 << 10, 32 << 10} {
		if err := s.hotRows(ctx, t, fleet, running, targets, body); err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

func (s *suite) hotRows(ctx context.Context, t *table.Table, fleet *rig.Engines, running []router, targets []*rig.Target, body int) error {
	rounds := make([][]cacheRound, len(running))
	for round := range min(s.Rounds, hotRounds) {
		for i, each := range running {
			s.progress("hotprompt: %s bodies, round %d, %s", bytesText(body), round+1, each.name)
			one, err := s.hotRound(ctx, fleet, targets[i], body, uint64(round+1))
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], one)
		}
	}
	var even table.Series // of the last round robin, which the rows below it are of
	for i, each := range running {
		rate := of(rounds[i], func(r *cacheRound) float64 { return perSecond(&r.slice) })
		ratio := "-"
		if strings.HasSuffix(each.name, roundRobin) {
			even = rate
		} else {
			ratio = rate.Over(even).Text(2)
		}
		t.Row(bytesText(body), each.name, rate.Text(0), ratio,
			of(rounds[i], func(r *cacheRound) float64 { return r.caches.Busiest() }).Text(2),
			of(rounds[i], func(r *cacheRound) float64 { return quantile(0.5, whole)(&r.slice) }).Text(0))
	}
	return nil
}

func (s *suite) hotRound(ctx context.Context, fleet *rig.Engines, target *rig.Target, body int, seed uint64) (cacheRound, error) {
	w := traffic.Hot{Model: engine.Model, Bytes: body, Requests: s.count(480), Seed: seed}
	return s.cacheRound(ctx, fleet, target, func(c *load.Client) (load.Result, error) { return c.Workload(w.Start(), false) })
}
