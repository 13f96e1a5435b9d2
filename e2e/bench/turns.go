package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/cached"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// turnRounds bounds the rounds of the section.
const turnRounds = 5

// turns measures what cache-aware routing adds to the time of a conversation's first
// request and of a later one.
func (s *suite) turns(ctx context.Context) error {
	t := s.table("turns", "Time added to a conversation's turns, cache-aware", "",
		"turn", "figure", "plain, ms", "history, ms", "added, ms", "local, ms", "added, ms")
	t.Notes = []string{fmt.Sprintf("%d engines that answer at once, one Envoy worker thread, Poisson arrivals at %d requests a second. First turns have 12 KB, 8 of them one of 16 system prompts; later ones are the second turns of the same conversations, 16 KB. Plain is Envoy without the filter. Local makes one call, on a stream, to a state service with the tokenizer of qwen3. %d rounds at most.", cachedEngines, lowRate, turnRounds)}
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartCached(cached.Instant(cachedEngines))
	if err != nil {
		return err
	}
	l, err := turnLanes(r, fleet)
	if err != nil {
		return err
	}
	defer l.close()
	s.progress("turns")
	firsts, laters, err := s.turnRounds(ctx, l)
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name   string
		rounds [][]slice
	}{{"first", firsts}, {"later", laters}} {
		for _, q := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p99", 0.99}} {
			plain, history, local := each(kind.rounds[0], quantile(q.at, whole)), each(kind.rounds[1], quantile(q.at, whole)), each(kind.rounds[2], quantile(q.at, whole))
			t.Row(kind.name, q.name, plain.Text(2), history.Text(2), history.Minus(plain).Text(2), local.Text(2), local.Minus(plain).Text(2))
		}
	}
	return t.Write(s.out)
}

// turnLanes are an Envoy without the filter and one with it for each cache source.
func turnLanes(r *rig.Rig, fleet *rig.Engines) (lanes, error) {
	var targets []*rig.Target
	for _, o := range []rig.EnvoyOptions{
		{Name: "envoy"},
		{Name: "envoy by history", Policy: cacheAware, Source: "history", Settings: cacheSettings},
		{Name: "envoy by events", Policy: cacheAware, Source: "local", Settings: eventSettings, CallStream: true},
	} {
		target, err := r.StartEnvoy(fleet, o)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return dial(streaming, targets...)
}

// turnRounds sends, in each round and lane, first turns and then the second turns of
// the same conversations. The first round only warms up.
func (s *suite) turnRounds(ctx context.Context, l lanes) (firsts, laters [][]slice, err error) {
	firsts, laters = make([][]slice, len(l)), make([][]slice, len(l))
	n := s.count(100)
	for round := range min(s.Rounds, turnRounds) + 1 {
		for i, lane := range l {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			// Every lane has its own texts: engines share what they have tokenized.
			first, later := twoTurns(n, uint64(round*len(l)+i))
			at := load.Poisson(n, lowRate, uint64(round))
			a, err := lane.measure(func(c *load.Client) (load.Result, error) { return c.OpenMix(first, at) })
			if err != nil {
				return nil, nil, err
			}
			time.Sleep(calm)
			b, err := lane.measure(func(c *load.Client) (load.Result, error) { return c.OpenMix(later, at) })
			if err != nil {
				return nil, nil, err
			}
			if round > 0 {
				firsts[i], laters[i] = append(firsts[i], a), append(laters[i], b)
			}
		}
	}
	return firsts, laters, nil
}

// twoTurns are the first and the second requests of n conversations.
func twoTurns(n int, seed uint64) (first, second [][]byte) {
	c := traffic.SessionChats(engine.Model, seed)
	c.Sessions, c.Turns = n, 2
	w := c.Start()
	take := func() (list [][]byte, all []*traffic.Party) {
		for {
			party, r, ok := w.Next()
			if !ok {
				return list, all
			}
			list, all = append(list, load.Post(string(r.Body))), append(all, party)
		}
	}
	first, all := take()
	for _, party := range all {
		w.Answered(party)
		w.Ready(party)
	}
	second, _ = take()
	return first, second
}
