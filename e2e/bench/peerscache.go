package bench

import (
	"context"
	"fmt"

	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// peerCacheRounds bounds the rounds of the section.
const peerCacheRounds = 5

// peersCache puts prompts that share their first half through cache-aware routers, and
// counts the processor time of the whole path.
func (s *suite) peersCache(ctx context.Context) error {
	t := s.table("peerscache", "CPU per request of the whole path, cache-aware",
		"ours / sglang-router and ours / vllm-router 1.0 for the same policy; falls short at 1.5",
		"body", "router", "CPU, us", "history / this", "local / this", "p50, ms")
	t.Notes = []string{fmt.Sprintf("%d engines that answer at once. Half of a prompt is one of 16 texts, the rest its own; %d busy connections. The path is the router's process; ours is Envoy (%d worker threads) and its state service, which for local has the tokenizer of qwen3, probes and reads metrics. vllm-router asks the engines' /tokenize about each prompt; what that costs them is not in the path. Calls of local go on a stream but for bodies above 64 KiB. %d rounds at most.", cachedEngines, busy, threads(), peerCacheRounds)}
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartCached(cached.Instant(cachedEngines))
	if err != nil {
		return err
	}
	running, targets, err := s.startAll(r, fleet, []router{byHistory(), byEvents(), sglang(cacheAware), vllm(cacheAware)})
	if err != nil {
		return err
	}
	l, err := dial(busy, targets...)
	if err != nil {
		return err
	}
	defer l.close()
	for _, load := range []struct{ body, count int }{{1 << 10, 500}, {16 << 10, 200}, {256 << 10, 30}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.progress("peerscache: %s", bytesText(load.body))
		if err := s.peerCacheRows(t, running, l, load.body, s.count(load.count)); err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

func (s *suite) peerCacheRows(t *table.Table, running []router, l lanes, body, count int) error {
	seed := uint64(0)
	rounds, err := l.rounds(min(s.Rounds, peerCacheRounds), func(c *load.Client) (load.Result, error) {
		seed++
		return c.ClosedMix(halfShared(count, body, seed), count)
	})
	if err != nil {
		return err
	}
	history, local := each(rounds[0], pathPerRequest), each(rounds[1], pathPerRequest)
	for i, router := range running {
		cost := each(rounds[i], pathPerRequest)
		t.Row(bytesText(body), router.name, cost.Text(1), history.Over(cost).Text(2), local.Over(cost).Text(2), each(rounds[i], quantile(0.5, first)).Text(2))
	}
	return nil
}

// halfShared are the first turns of n conversations of about a size, half of each one of
// 16 system prompts that are the same for every seed.
func halfShared(n, size int, seed uint64) [][]byte {
	c := traffic.SessionChats(engine.Model, 1)
	c.Sessions, c.Turns, c.System, c.Turn = n, 1, size/2, size/2
	c.Texts = seed
	w := c.Start()
	list := make([][]byte, 0, n)
	for {
		_, r, ok := w.Next()
		if !ok {
			return list
		}
		list = append(list, load.Post(string(r.Body)))
	}
}
