package rig

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/proc"
)

// startState runs a state service over the engines with its default settings:
// it probes every engine and reads its metrics once a second.
func (r *Rig) startState(engines *Engines) (addr string, p *proc.Process, err error) {
	if addr, err = freePort(); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nlisten: %q\nfleet:\n  static:\n", addr)
	for i, e := range engines.Addrs {
		fmt.Fprintf(&b, "    - {id: engine-%04d, address: %q, models: [%s], role: plain}\n", i, e, engine.Model)
	}
	path, err := r.file("state.yaml", []byte(b.String()))
	if err != nil {
		return "", nil, err
	}
	p, err = proc.Start("statesvc", r.parts.State, []string{"--config", path, "--log-level", "error"}, nil)
	if err != nil {
		return "", nil, err
	}
	r.stops = append(r.stops, p.Stop)
	return addr, p, r.await(p, func() error { return get("http://" + addr + "/readyz") })
}
