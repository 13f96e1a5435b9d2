// Package soak sends very many requests through one Envoy or hostsim, with
// failures, aborts and large bodies mixed in at rates that a seed fixes, and
// judges whether anything grew, leaked, or went otherwise than asked for.
package soak

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/e2e/soak/stage"
)

// Options say what to run.
type Options struct {
	Plan
	Stage    stage.Options
	Clients  int // requests at a time
	Progress io.Writer
}

// Run runs a plan. The error says why the run could not be done; what it found
// is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.NoResend = o.Stage.Hostsim
	o.Stage.NoBreaker = o.Harsh > 1
	s, err := stage.Start(ctx, o.Stage)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &run{options: o, stage: s, log: follower{path: s.Host.Log()}, start: time.Now()}
	r.watcher = newWatcher(s, r.hostName())
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	elapsed := time.Since(r.start)
	settled, err := settle(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.log.read(o.Requests); err != nil {
		return nil, err
	}
	return &Report{
		Options: o, Host: r.title(), Elapsed: elapsed, Tally: &r.tally, Rows: r.watcher.watched(),
		Settled: settled, Faults: r.log.faults, FaultCount: r.log.count,
	}, nil
}

// run is one run under way.
type run struct {
	options Options
	stage   *stage.Stage
	watcher *watcher
	log     follower
	tally   Tally
	start   time.Time
}

func (r *run) hostName() string {
	if r.options.Stage.Hostsim {
		return "hostsim"
	}
	return "Envoy"
}

func (r *run) title() string {
	if r.options.Stage.Hostsim {
		return "hostsim, as Envoy " + r.options.Stage.Version
	}
	return "Envoy " + r.options.Stage.Version
}

// load sends all requests and samples meanwhile.
func (r *run) load(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newClient(r.options.Plan, r.stage.Host.Addr(), r.options.Clients)
	defer c.close()
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range r.options.Clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < r.options.Requests && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				outcome, kind := c.send(ctx, i), r.options.Kind(i)
				r.tally.add(i, kind, outcome, r.options.Want(kind))
			}
		})
	}
	err := r.watch(ctx, c)
	cancel()
	wg.Wait()
	return err
}

// watch samples until all requests are done.
func (r *run) watch(ctx context.Context, c *client) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	step := max(1, r.options.Requests/samples)
	sampled, told := 0, r.start
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := r.alive(); err != nil {
			return err
		}
		done := r.tally.Done()
		if err := r.log.read(done); err != nil {
			return err
		}
		finished := done >= r.options.Requests
		if done >= sampled+step || finished {
			if err := c.withoutLarge(func() error { return r.watcher.sample(ctx, done) }); err != nil {
				return err
			}
			sampled = done
		}
		if finished {
			return nil
		}
		if time.Since(told) >= progressEvery {
			told = time.Now()
			r.tell(done)
		}
	}
}

func (r *run) alive() error {
	switch {
	case r.stage.Host.Exited():
		return fmt.Errorf("%s ended after %d requests", r.title(), r.tally.Done())
	case r.stage.State.Exited():
		return fmt.Errorf("the state service ended after %d requests: %s", r.tally.Done(), r.stage.State.Output())
	}
	return nil
}

func (r *run) tell(done int) {
	fmt.Fprintf(r.options.Progress, "%s: %d of %d, %.0f/s, not as asked %d, fault lines %d%s\n", r.title(), done, r.options.Requests,
		float64(done)/time.Since(r.start).Seconds(), r.tally.Otherwise(), r.log.count, r.watcher.status())
}
