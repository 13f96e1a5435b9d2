package stage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/proc"
)

// State is the state service.
type State struct {
	addr string
	*proc.Process
}

func (s *Stage) startState(ctx context.Context) (*State, error) {
	addr, err := freePort()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nlisten: %q\nfleet:\n  static:\n", addr)
	for i, e := range s.Engines.Addrs {
		fmt.Fprintf(&b, "    - {id: engine-%d, address: %q}\n", i, e)
	}
	path, err := s.file("state.yaml", b.String())
	if err != nil {
		return nil, err
	}
	p, err := s.spawn("statesvc", s.options.State, "--config", path, "--log-level", "error")
	if err != nil {
		return nil, err
	}
	err = await(ctx, "the state service", p.Exited, func() error {
		if _, err := get(ctx, "http://"+addr+"/readyz"); err != nil {
			return fmt.Errorf("%w: %s", err, p.Output())
		}
		return nil
	})
	return &State{addr, p}, err
}

// Inflight is the number of requests in flight that it counts over all engines.
func (s *State) Inflight(ctx context.Context) (total int64, err error) {
	var doc struct{ Workers []struct{ Inflight int64 } }
	err = getJSON(ctx, "http://"+s.addr+"/v1/workers", &doc)
	for _, w := range doc.Workers {
		total += w.Inflight
	}
	return total, err
}

// Goroutines reads go_goroutines of its metrics page.
func (s *State) Goroutines(ctx context.Context) (int64, error) {
	const metric = "go_goroutines "
	body, err := get(ctx, "http://"+s.addr+"/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, metric); ok {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, fmt.Errorf("the state service's metrics have no %s", metric)
}
