// Package guest drives filter.wasm in hostsim, without sockets, to measure what
// one request and one tick cost in guest and host, and which calls they make.
//
// hostsim runs wasm on wazero. Envoy's V8 makes faster code, so times here are
// for comparison with one another and with later builds; counts of calls are the
// same in both.
package guest

import (
	"context"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/hostsim"
)

// tick is the filter's sync interval (design section 4).
const tick = 200 * time.Millisecond

// Guest is one VM with the filter and a fleet of its own making.
type Guest struct {
	vm    *hostsim.VM
	clock *hostsim.ManualClock
	trace *hostsim.Trace
	fleet *fleet
}

// New starts a VM with power_of_two over so many workers and gives it its fleet.
// With a trace every call is recorded, which costs time: measure either.
func New(module *hostsim.Module, workers int, traced bool) (*Guest, error) {
	g := &Guest{clock: hostsim.NewManualClock(time.Unix(0, 0)), fleet: newFleet(workers)}
	if traced {
		g.trace = &hostsim.Trace{}
	}
	var problem string
	vm, err := module.NewVM(context.Background(), hostsim.VMOptions{
		PluginName: "pointsman", VMID: "bench", AllowOnHeadersStopIteration: true, BodyLimit: 33 << 20,
		PluginConfig: fmt.Appendf(nil, `{"version":1,"endpoint_mode":"override_host","state":{"cluster":"state"},`+
			`"models":{%q:{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"power_of_two"}}}}]}}}`, engine.Model),
		Clock: g.clock, Callouts: hostsim.CalloutFunc(g.fleet.answer), Trace: g.trace,
		Log: func(level hostsim.LogLevel, text string) {
			if level >= hostsim.LogWarn {
				problem = text
			}
		},
	})
	if err != nil {
		return nil, err
	}
	g.vm = vm
	g.Tick() // the first one asks for the fleet
	g.reset()
	if err := g.Request(NewChat(1<<10), 0); err != nil {
		_ = vm.Close()
		return nil, fmt.Errorf("%w (the filter says: %s)", err, problem)
	}
	g.reset()
	return g, nil
}

func (g *Guest) reset() {
	if g.trace != nil {
		g.trace.Reset()
	}
}

// Close frees the VM.
func (g *Guest) Close() error { return g.vm.Close() }

// Tick moves the clock by one sync interval and lets what is due happen: the
// tick, its callout and the reply.
func (g *Guest) Tick() {
	g.clock.Advance(tick, g.vm.RunPending)
	g.vm.RunPending()
}

// Chat is a request ready to be fed in.
type Chat struct {
	length string
	body   []byte
}
