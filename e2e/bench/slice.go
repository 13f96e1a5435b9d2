package bench

import (
	"fmt"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/e2e/bench/rig"
	"github.com/pointsman/pointsman/e2e/bench/table"
)

// lane is one target with the connections that load it.
type lane struct {
	target *rig.Target
	client *load.Client
}

// lanes are the targets that are measured in turn.
type lanes []*lane

func dial(connections int, targets ...*rig.Target) (lanes, error) {
	var all lanes
	for _, t := range targets {
		client, err := load.Dial(t.Addr, connections)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, &lane{target: t, client: client})
	}
	return all, nil
}

func (l lanes) close() {
	for _, each := range l {
		each.client.Close()
	}
}

// slice is what one target used and did in one round.
type slice struct {
	load.Result
	proxy, state time.Duration // processor time
}

// measure runs some load and reads the processor time around it.
func (l *lane) measure(run func(*load.Client) (load.Result, error)) (slice, error) {
	var s slice
	proxy, err := l.target.CPU()
	if err != nil {
		return s, err
	}
	state, err := l.target.StateCPU()
	if err != nil {
		return s, err
	}
	if s.Result, err = run(l.client); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", l.target.Name, err, l.target.Output())
	}
	if s.proxy, err = l.target.CPU(); err != nil {
		return s, err
	}
	s.state, err = l.target.StateCPU()
	s.proxy, s.state = s.proxy-proxy, s.state-state
	return s, err
}

// rounds measures every lane in turn, round after round, after one round that
// only warms up. The answer has a list of rounds for each lane.
func (l lanes) rounds(n int, run func(*load.Client) (load.Result, error)) ([][]slice, error) {
	all := make([][]slice, len(l))
	for round := range n + 1 {
		for i, each := range l {
			s, err := each.measure(run)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i] = append(all[i], s)
			}
		}
	}
	return all, nil
}

// each takes one figure out of every round.
func each(rounds []slice, figure func(*slice) float64) table.Series {
	out := make(table.Series, 0, len(rounds))
	for i := range rounds {
		out = append(out, figure(&rounds[i]))
	}
	return out
}

// Figures of a slice, in microseconds.
func proxyPerRequest(s *slice) float64 { return micros(s.proxy, s.Requests) }
func pathPerRequest(s *slice) float64  { return micros(s.proxy+s.state, s.Requests) }
func proxyPerChunk(s *slice) float64   { return micros(s.proxy, s.Requests*engine.Chunks) }
func stateShare(s *slice) float64      { return 100 * float64(s.state) / float64(s.Elapsed) }

// quantile gives a figure that is a quantile of times, in milliseconds.
func quantile(q float64, times func(*slice) []time.Duration) func(*slice) float64 {
	return func(s *slice) float64 { return millis(times(s)).Quantile(q) }
}

func first(s *slice) []time.Duration { return s.First }
func whole(s *slice) []time.Duration { return s.Whole }

func millis(times []time.Duration) table.Series {
	out := make(table.Series, len(times))
	for i, t := range times {
		out[i] = float64(t.Nanoseconds()) / 1e6
	}
	return out
}
