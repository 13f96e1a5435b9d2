package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// Service is the state service behind the filters.
type Service interface {
	http.Handler
	// Report takes what an engine says of itself.
	Report(engine int, load core.LoadReport)
}

// Listener is a Service that hears at once what engines' caches take in and give up,
// block by block, as it would by their KV events. Neither may keep the slices.
type Listener interface {
	// Stored tells of blocks in a row, of BlockChars characters each. parent is the
	// block before the first, 0 at the beginning of a prompt.
	Stored(engine int, parent uint64, hashes []uint64, text string)
	Removed(engine int, hashes []uint64)
}

// Setup is one simulation. All fields are required.
type Setup struct {
	Module      *hostsim.Module
	Clock       *hostsim.ManualClock // the service's as well
	Config      []byte               // of the filters
	Contexts    int                  // filters that share one proxy
	Engines     int
	Engine      Engine
	Connections int // spread over the contexts, each with one request at a time
	Workload    traffic.Workload
	Service     Service
	Seed        uint64
}

// Result is what came of a simulation.
type Result struct {
	Requests int
	Failed   int     // not sent to an engine
	HitRate  float64 // characters cached of all characters
	Busiest  float64 // requests of the busiest engine by the mean of all
	Took     time.Duration
	Median   time.Duration // from a request to its answer
	Engines  []int         // requests of each
}

// PerSecond is the throughput.
func (r *Result) PerSecond() float64 { return float64(r.Requests) / r.Took.Seconds() }

// Address is the address of an engine, by its number.
func Address(engine int) string { return fmt.Sprintf("10.0.0.%d:8000", engine+1) }

// reportEvery is how often engines are asked for their load (design section 5).
const reportEvery = time.Second

// limit is when a simulation is given up, in virtual time.
const limit = 2 * time.Hour

// Run simulates until the workload is done.
func (s Setup) Run(ctx context.Context) (*Result, error) {
	r := &run{Setup: s, ctx: ctx, byAddress: map[string]*engine{}}
	defer r.close()
	hears, _ := s.Service.(Listener)
	for i := range s.Engines {
		e := &engine{Engine: s.Engine, number: i, cache: newCache(s.Engine.Cache), hears: hears}
		r.engines = append(r.engines, e)
		r.byAddress[Address(i)] = e
	}
	r.report()
	if err := r.startFilters(ctx); err != nil {
		return nil, err
	}
	const warmUp = 500 * time.Millisecond // the first fleet is in by then
	r.advance(warmUp)
	began := s.Clock.Now()
	for i := range s.Connections {
		r.free = append(r.free, i)
	}
	r.pump()
	for !s.Workload.Done() {
		if s.Clock.Now().Sub(began) > limit {
			return nil, errors.New("the simulation does not end: requests are stuck")
		}
		r.advance(time.Millisecond)
		if err := r.fault(); err != nil {
			return nil, err
		}
	}
	return r.result(s.Clock.Now().Sub(began)), nil
}

// run is a simulation at work.
type run struct {
	Setup
	ctx       context.Context // of the calls
	engines   []*engine
	byAddress map[string]*engine
	filters   []*hostsim.VM
	free      []int // connections
	held      []*exchange
	failed    int
	times     []time.Duration // of the answers
}

func (r *run) close() {
	for _, vm := range r.filters {
		_ = vm.Close()
	}
}

// after runs f later.
func (r *run) after(d time.Duration, f func()) { r.Clock.AfterFunc(d, f) }

// advance moves the clock, and lets filters and requests follow each event.
func (r *run) advance(d time.Duration) { r.Clock.Advance(d, r.settle) }

func (r *run) settle() {
	for _, vm := range r.filters {
		vm.RunPending()
	}
	still := r.held[:0]
	for _, x := range r.held {
		if !x.sent() {
			still = append(still, x)
		}
	}
	r.held = still
	r.pump()
}

// report tells the service the engines' loads, again and again.
func (r *run) report() {
	for i, e := range r.engines {
		r.Service.Report(i, e.load())
	}
	r.after(reportEvery, r.report)
}

// pump sends what is ready over the connections that are free.
func (r *run) pump() {
	for len(r.free) > 0 {
		party, request, ok := r.Workload.Next()
		if !ok {
			return
		}
		connection := r.free[0]
		r.free = r.free[1:]
		x := &exchange{run: r, party: party, request: request, connection: connection}
		x.open()
		if !x.sent() {
			r.held = append(r.held, x)
		}
	}
}

func (r *run) fault() error {
	for _, vm := range r.filters {
		if err := vm.Failure(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) result(took time.Duration) *Result {
	out := &Result{Failed: r.failed, Took: took}
	chars, hits, busiest := 0, 0, 0
	for _, e := range r.engines {
		out.Requests += e.requests
		out.Engines = append(out.Engines, e.requests)
		chars, hits, busiest = chars+e.chars, hits+e.hits, max(busiest, e.requests)
	}
	if n := len(r.times); n > 0 {
		slices.Sort(r.times)
		out.Median = r.times[n/2]
	}
	if out.Requests > 0 {
		out.HitRate = float64(hits) / float64(chars)
		out.Busiest = float64(busiest) * float64(len(r.engines)) / float64(out.Requests)
	}
	return out
}
