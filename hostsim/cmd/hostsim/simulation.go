package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/simulate"
	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/pointsman/pointsman/statesvc/server"
)

// simulatedModel is the model that simulated engines serve.
const simulatedModel = "demo"

// connections is how many clients of a simulation have a request open at a time.
const connections = 64

// simulation is one policy, one workload and one fleet.
type simulation struct {
	policy   string
	engines  int
	contexts int
	engine   simulate.Engine
	workload traffic.Workload
	seed     uint64
}

// run simulates it with the module as filter.
func (s simulation) run(ctx context.Context, module *hostsim.Module) (*simulate.Result, error) {
	setup, err := s.setup(module)
	if err != nil {
		return nil, err
	}
	return setup.Run(ctx)
}

func (s simulation) setup(module *hostsim.Module) (simulate.Setup, error) {
	policy, err := policyConfig(s.policy)
	if err != nil {
		return simulate.Setup{}, err
	}
	clock := hostsim.NewManualClock(time.Unix(0, 0))
	return simulate.Setup{
		Module: module, Clock: clock, Contexts: s.contexts, Engines: s.engines, Engine: s.engine,
		Connections: connections, Workload: s.workload, Service: newSimulatedState(clock, s.engines), Seed: s.seed,
		// The service's answers take a virtual millisecond. It watches the caller's
		// deadline on the machine's clock, which must not decide anything.
		Config: fmt.Appendf(nil, `{"version": 1, "state": {"cluster": "state", "observe_timeout_ms": 10000, "bind_timeout_ms": 10000}, "models": {%q: {"buckets": [
			{"id": "all", "groups": {"plain": {"policy": %s}}}]}}}`, simulatedModel, policy),
	}, nil
}

// simulatedState is the real state service without its eyes: what it knows of the
// engines the simulation tells it, on the simulation's clock.
type simulatedState struct {
	*server.Server
	*simulatedIndex
	board *board.Board
	clock func() core.Instant
}

func newSimulatedState(clock *hostsim.ManualClock, engines int) *simulatedState {
	cfg := config.Default()
	began := clock.Now()
	now := func() core.Instant { return core.Instant(clock.Now().Sub(began).Milliseconds()) }
	b := board.New(board.Options{
		Replica: 1, Clock: now, Freshness: 5000, Tombstones: engines,
		Gauges: gauges.Limits{Contexts: cfg.Limits.MaxContexts, Gauges: cfg.Limits.MaxGauges, Expiry: 1500},
	})
	for i := range engines {
		b.Describe(core.Worker{
			ID: workerID(i), Address: simulate.Address(i), Models: []string{simulatedModel}, Stage: core.StagePlain, Generation: 1, Healthy: true,
		}, 0)
	}
	ready := make(chan struct{})
	close(ready)
	index := newSimulatedIndex(engines)
	return &simulatedState{board: b, clock: now, simulatedIndex: index, Server: server.New(server.Options{
		Config: &cfg, Board: b, Fleet: blindFleet(ready), Clock: now, Meter: noMeter{}, Metrics: http.NotFoundHandler(),
		Prompts:  index.prompts(),
		Bindings: affinity.NewMemory(affinity.Limits{Bindings: 1 << 16, Bytes: 1 << 30}),
		Logger:   slog.New(slog.DiscardHandler), Version: version,
	})}
}

// Report implements simulate.Service.
func (s *simulatedState) Report(engine int, load core.LoadReport) {
	s.board.Report(workerID(engine), 1, load, s.clock())
}

func workerID(engine int) core.WorkerID { return core.WorkerID(fmt.Sprintf("engine-%d", engine)) }

// blindFleet probes nothing and is ready.
type blindFleet chan struct{}

func (f blindFleet) Ready() <-chan struct{}                    { return f }
func (f blindFleet) Status() []fleet.Status                    { return nil }
func (f blindFleet) Suspect(id core.WorkerID, _ time.Duration) {}
func (f blindFleet) Sources() []fleet.SourceStatus             { return nil }

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) Request(string, int, time.Duration) {}
func (noMeter) Count(server.Outcome, int)          {}
func (noMeter) Opened()                            {}
func (noMeter) Ended(int)                          {}
