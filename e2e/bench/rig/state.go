package rig

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/proc"
)

// startState runs a state service over the engines with its default settings:
// it probes every engine and reads its metrics once a second. With prompts it also
// follows engines' KV events and has their tokenizer; nothing else needs them.
func (r *Rig) startState(engines *Engines, prompts bool) (addr string, p *proc.Process, err error) {
	if addr, err = freePort(); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nlisten: %q\nfleet:\n  static:\n", addr)
	for i, e := range engines.Addrs {
		fmt.Fprintf(&b, "    - {id: engine-%04d, address: %q, models: [%s], role: plain}\n", i, e, engine.Model)
	}
	switch {
	case !prompts:
		b.WriteString("kv: {enabled: false}\n")
	case engines.tokenizer == "":
		b.WriteString("tokenize: {ask_engines: true}\n")
	default:
		fmt.Fprintf(&b, "tokenize: {models: {%s: {dir: %q, engine: vllm, trust: true}}}\n", engine.Model, engines.tokenizer)
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
	return addr, p, r.await(p, func() error {
		_, err := get("http://" + addr + "/readyz")
		return err
	})
}

// StateCalls is how many calls of a route the target's state service has answered
// with 200.
func (t *Target) StateCalls(route string) (float64, error) {
	if t.State == nil {
		return 0, nil
	}
	page, err := get("http://" + t.state + "/metrics")
	if err != nil {
		return 0, err
	}
	series := fmt.Sprintf("pointsman_state_http_requests_total{route=%q,status=\"200\"} ", route)
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(line, series); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil // none yet
}
