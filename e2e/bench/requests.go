package bench

import (
	"context"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
)

// busy is how many connections are kept busy while requests are counted.
const busy = 8

// perRound is how many requests of a body size a round has.
func (s *suite) perRound(body int) int {
	switch {
	case body <= 8<<10:
		return s.count(1000)
	case body <= 128<<10:
		return s.count(300)
	}
	return s.count(50)
}

// requests compares an Envoy with the filter to the same Envoy without, over
// sizes of fleet and body.
func (s *suite) requests(ctx context.Context) error {
	workers, bodies := s.Workers, s.Bodies
	if len(workers) == 0 {
		workers = []int{4, 100, 1000}
	}
	if len(bodies) == 0 {
		bodies = []int{1 << 10, 4 << 10, 64 << 10, 1 << 20}
	}
	t := s.table("requests", "Envoy CPU per request, with and without the filter (power_of_two, sync running)",
		"ratio 1.6 at 4 KB and 100 workers; falls short at 2.0",
		"workers", "body", "plain, us", "with filter, us", "ratio", "added, us", "state service, % of a core")
	t.Notes = []string{"One Envoy worker thread, " + strconv.Itoa(busy) + " busy connections. Plain is the shipped bootstrap without the filter and what belongs to it. The state service probes every engine and reads its metrics once a second, whatever the requests."}
	for _, n := range workers {
		if err := s.fleetOf(ctx, n, 0, func(l lanes) error {
			for _, body := range bodies {
				s.progress("requests: %d workers, %s bodies", n, bytesText(body))
				request, count := load.Chat(engine.Model, body, false), s.perRound(body)
				all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.Closed(request, count) })
				if err != nil {
					return err
				}
				plain, filter := each(all[0], proxyPerRequest), each(all[1], proxyPerRequest)
				t.Row(strconv.Itoa(n), bytesText(body), plain.Text(1), filter.Text(1), filter.Over(plain).Text(2),
					filter.Minus(plain).Text(1), each(all[1], stateShare).Text(1))
			}
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

// fleetOf runs engines and, in front of them, an Envoy without the filter and
// one with it.
func (s *suite) fleetOf(ctx context.Context, engines int, interval time.Duration, use func(lanes) error) error {
	return s.sideBySide(ctx, engines, interval, []rig.EnvoyOptions{
		{Name: "envoy"},
		{Name: "envoy with filter", Policy: powerOfTwo},
	}, use)
}

// sideBySide runs engines and Envoys in front of them, and gives a lane to each.
func (s *suite) sideBySide(ctx context.Context, engines int, interval time.Duration, envoys []rig.EnvoyOptions, use func(lanes) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := rig.New(s.Parts)
	defer r.Close()
	fleet, err := r.StartEngines(engines, interval)
	if err != nil {
		return err
	}
	targets := make([]*rig.Target, 0, len(envoys))
	for _, o := range envoys {
		target, err := r.StartEnvoy(fleet, o)
		if err != nil {
			return err
		}
		targets = append(targets, target)
	}
	connections := busy
	if interval > 0 {
		connections = streaming
	}
	l, err := dial(connections, targets...)
	if err != nil {
		return err
	}
	defer l.close()
	return use(l)
}
