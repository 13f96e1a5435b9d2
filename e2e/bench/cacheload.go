package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// The session workload of the peers' benchmark.
const (
	cachedEngines     = 8
	cachedConnections = 64
	// sessionSeeds is how many seeds the caches are tried with.
	sessionSeeds = 5
)

// cacheLoad sends growing chats through routers that go by what engines have cached.
func (s *suite) cacheLoad(ctx context.Context) error {
	t := s.table("cacheload", "Growing chats through cache-aware routers",
		"hit rate above every peer's; requests/s and p50 at least 0.95 of the best peer's cache_aware",
		"cache, characters", "router", "requests/s", "p50, ms", "p99, ms", "hit rate", "busiest / mean", "path CPU, us")
	t.Notes = []string{fmt.Sprintf("%d sessions of %d turns of 4 KB behind 16 system prompts of 8 KB, %d connections, mean pause 0.3 s; %d engines of 2 slots that answer after 5 ms and 4 ms for each 1,000 characters not cached. Each round has a seed of its own, the same for every router, and begins with empty caches. Hits are those the engines count. No single cache, however large, would have more than 0.84. The engines' processor time is not in the path's, but it is on the same machine; for vllm-router they also answer /tokenize. The state service has the engines' tokenizer (qwen3), and its calls come on a stream. %d seeds at most.",
		s.chats(1).Sessions, s.chats(1).Turns, cachedConnections, cachedEngines, sessionSeeds)}
	for _, fleet := range []struct {
		chars   int
		routers []router
	}{
		{1_500_000, []router{
			byHistory(), byEvents(), sglang(cacheAware), vllm(cacheAware),
			bySession(ours(rig.EnvoyOptions{Policy: "session_aware", CallStream: true})), bySession(vllm("sticky_least_loaded")),
		}},
		{800_000, []router{byHistory(), byEvents(), sglang(cacheAware), vllm(cacheAware)}},
	} {
		if err := s.cacheRows(ctx, t, fleet.chars, min(s.Rounds, sessionSeeds), fleet.routers); err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

// chats is the workload, smaller in a quick run.
func (s *suite) chats(seed uint64) traffic.Chats {
	c := traffic.SessionChats(engine.Model, seed)
	c.Sessions = min(c.Sessions, max(8, int(float64(c.Sessions)*s.Scale)))
	return c
}

func (s *suite) cacheRows(ctx context.Context, t *table.Table, chars, seeds int, routers []router) error {
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartCached(cached.Sessions(cachedEngines, chars))
	if err != nil {
		return err
	}
	running, targets, err := s.startAll(r, fleet, routers)
	if err != nil {
		return err
	}
	rounds := make([][]cacheRound, len(running))
	for seed := range seeds {
		for i, each := range running {
			s.progress("cacheload: caches of %d, seed %d of %d, %s", chars, seed+1, seeds, each.name)
			chats := s.chats(uint64(seed + 1))
			round, err := s.cacheRound(ctx, fleet, targets[i], func(c *load.Client) (load.Result, error) {
				return c.Workload(chats.Start(), each.named)
			})
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], round)
		}
	}
	for i, each := range running {
		name := each.name
		if each.named {
			name += " (session header)"
		}
		t.Row(strconv.Itoa(chars), name,
			of(rounds[i], func(r *cacheRound) float64 { return perSecond(&r.slice) }).Text(0),
			of(rounds[i], func(r *cacheRound) float64 { return quantile(0.5, whole)(&r.slice) }).Text(1),
			of(rounds[i], func(r *cacheRound) float64 { return quantile(0.99, whole)(&r.slice) }).Text(0),
			of(rounds[i], func(r *cacheRound) float64 { return r.caches.HitRate() }).Text(3),
			of(rounds[i], func(r *cacheRound) float64 { return r.caches.Busiest() }).Text(2),
			of(rounds[i], func(r *cacheRound) float64 { return pathPerRequest(&r.slice) }).Text(0))
	}
	return nil
}

// cacheRound is one router with one seed.
type cacheRound struct {
	slice  slice
	caches rig.Caches
}

// calm lets the state services hear that caches are empty, and engines finish.
const calm = 300 * time.Millisecond

func (s *suite) cacheRound(ctx context.Context, fleet *rig.Engines, target *rig.Target, run func(*load.Client) (load.Result, error)) (round cacheRound, err error) {
	if err := fleet.Forget(ctx); err != nil {
		return round, err
	}
	time.Sleep(calm)
	l, err := dial(cachedConnections, target)
	if err != nil {
		return round, err
	}
	defer l.close()
	before, err := fleet.Caches()
	if err != nil {
		return round, err
	}
	if round.slice, err = l[0].measure(run); err != nil {
		return round, err
	}
	after, err := fleet.Caches()
	round.caches = after.Since(before)
	return round, err
}

// of takes one figure out of every round.
func of[T any](rounds []T, figure func(*T) float64) table.Series {
	out := make(table.Series, 0, len(rounds))
	for i := range rounds {
		out = append(out, figure(&rounds[i]))
	}
	return out
}

func perSecond(s *slice) float64 { return float64(s.Requests) / s.Elapsed.Seconds() }
