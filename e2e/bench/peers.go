package bench

import (
	"context"
	"fmt"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

// Policies that all routers have.
const (
	roundRobin = "round_robin"
	powerOfTwo = "power_of_two"
)

// peerEngines is the size of the fleet behind every router.
const peerEngines = 8

// contender is a router in the comparison. ours is the lane of our proxy with
// the same policy.
type contender struct {
	target *rig.Target
	ours   int
}

// peers puts the same load through our proxy and through other routers.
func (s *suite) peers(ctx context.Context) error {
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartEngines(peerEngines, chunkInterval)
	if err != nil {
		return err
	}
	all, err := contenders(r, fleet)
	if err != nil {
		return err
	}
	t := s.table("peers", "CPU per request of the whole path, side by side",
		"ours / sglang-router and ours / vllm-router 1.0 for the same policy; falls short at 1.5",
		"load", "router", "CPU, us", "ours / this", "p50, ms")
	t.Notes = []string{fmt.Sprintf("%d engines. The path is the router's process; ours is Envoy (one worker thread) and its state service, which probes and reads metrics meanwhile. Plain requests on %d busy connections; a streamed one has %d chunks, %v apart, on %d connections, and its p50 is the time to the first chunk.", peerEngines, busy, engine.Chunks, chunkInterval, streaming)}
	for _, body := range []int{1 << 10, 4 << 10, 64 << 10} {
		if err := s.peerRows(ctx, t, all, bytesText(body), busy, s.perRound(body), load.Chat(engine.Model, body, false)); err != nil {
			return err
		}
	}
	if err := s.peerRows(ctx, t, all, "1 KB streamed", streaming, s.count(streaming), load.Chat(engine.Model, 1<<10, true)); err != nil {
		return err
	}
	return t.Write(s.out)
}

func contenders(r *rig.Rig, fleet *rig.Engines) ([]contender, error) {
	starts := []struct {
		ours  int
		start func() (*rig.Target, error)
	}{
		{0, func() (*rig.Target, error) {
			return r.StartEnvoy(fleet, rig.EnvoyOptions{Name: "pointsman " + roundRobin, Policy: roundRobin})
		}},
		{1, func() (*rig.Target, error) {
			return r.StartEnvoy(fleet, rig.EnvoyOptions{Name: "pointsman " + powerOfTwo, Policy: powerOfTwo})
		}},
		{0, func() (*rig.Target, error) { return r.StartSGLang(fleet, roundRobin) }},
		{1, func() (*rig.Target, error) { return r.StartSGLang(fleet, powerOfTwo) }},
		{0, func() (*rig.Target, error) { return r.StartVLLM(fleet, roundRobin) }},
		{1, func() (*rig.Target, error) { return r.StartVLLM(fleet, powerOfTwo) }},
		{0, func() (*rig.Target, error) { return r.StartNginx(fleet) }},
		{0, func() (*rig.Target, error) {
			return r.StartEnvoy(fleet, rig.EnvoyOptions{Name: "envoy without filter"})
		}},
	}
	var all []contender
	for _, s := range starts {
		target, err := s.start()
		if err != nil {
			return nil, err
		}
		all = append(all, contender{target, s.ours})
	}
	return all, nil
}

func (s *suite) peerRows(ctx context.Context, t *table.Table, all []contender, name string, connections, count int, request []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.progress("peers: %s", name)
	targets := make([]*rig.Target, 0, len(all))
	for _, c := range all {
		targets = append(targets, c.target)
	}
	l, err := dial(connections, targets...)
	if err != nil {
		return err
	}
	defer l.close()
	rounds, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.Closed(request, count) })
	if err != nil {
		return err
	}
	for i, c := range all {
		cost := each(rounds[i], pathPerRequest)
		ratio := "-"
		if c.ours != i {
			ratio = each(rounds[c.ours], pathPerRequest).Over(cost).Text(2)
		}
		t.Row(name, c.target.Name, cost.Text(1), ratio, each(rounds[i], quantile(0.5, first)).Text(2))
	}
	return nil
}
