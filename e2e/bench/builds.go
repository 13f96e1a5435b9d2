package bench

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
)

// builds compares builds of the filter in one run: what a change to it gives.
func (s *suite) builds(ctx context.Context) error {
	t := s.table("builds", "Builds of the filter, Envoy CPU per request (power_of_two)", "", "workers", "body", "build", "CPU, us", "over plain", "more than plain, us")
	workers, bodies := s.Workers, s.Bodies
	if len(workers) == 0 {
		workers = []int{100}
	}
	if len(bodies) == 0 {
		bodies = []int{1 << 10, 4 << 10, 64 << 10}
	}
	for _, n := range workers {
		err := s.buildsWith(ctx, n, func(l lanes) error {
			for _, body := range bodies {
				s.progress("builds: %d workers, %s bodies", n, bytesText(body))
				request, count := load.Chat(engine.Model, body, false), s.perRound(body)
				all, err := l.rounds(s.Rounds, func(c *load.Client) (load.Result, error) { return c.Closed(request, count) })
				if err != nil {
					return err
				}
				plain := each(all[0], proxyPerRequest)
				for i, one := range l {
					cost := each(all[i], proxyPerRequest)
					t.Row(strconv.Itoa(n), bytesText(body), one.target.Name, cost.Text(1), cost.Over(plain).Text(2), cost.Minus(plain).Text(1))
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return t.Write(s.out)
}

// buildsWith runs an Envoy without the filter, one with the filter's cluster
// settings alone, and one with each build.
func (s *suite) buildsWith(ctx context.Context, engines int, use func(lanes) error) error {
	envoys := []rig.EnvoyOptions{
		{Name: "no filter"},
		{Name: "no filter, its cluster settings", KeepCluster: true},
	}
	for _, path := range append([]string{s.Parts.Filter}, s.Builds...) {
		name := strings.TrimSuffix(filepath.Base(path), ".wasm")
		envoys = append(envoys, rig.EnvoyOptions{Name: name, Policy: powerOfTwo, Filter: path})
	}
	return s.sideBySide(ctx, engines, 0, envoys, use)
}
