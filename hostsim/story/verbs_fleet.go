package story

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// playConfig starts a filter, in place of one that runs.
func (r *run) playConfig(a *arguments, input string) error {
	hide := a.flag("hide-bodies")
	if err := a.done(); err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	r.filter, r.exchanges, r.refused = nil, nil, ""
	document := complete([]byte(input))
	filter, err := r.host.Start(document, Surroundings{Clock: r.clock, Service: r.service, HideBodies: hide})
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		for _, line := range refused.Lines {
			r.printf("%s\n", line)
		}
		r.refused = strings.Join(strings.Fields(refused.Error()), " ")
		return nil
	}
	if err != nil {
		return err
	}
	cfg, err := spec.Decode(document)
	if err != nil {
		return err
	}
	r.filter = filter
	r.config = &settings{state: cfg.State != nil, spec: cfg}
	r.describe(cfg)
	if r.config.state && r.service.known {
		return r.sync()
	}
	return nil
}

func (r *run) describe(cfg *spec.Config) {
	for _, w := range cfg.Workers {
		id := w.ID
		if id == "" {
			id = w.Address
		}
		r.service.given[core.WorkerID(id)] = w.Address
	}
	buckets := 0
	for _, m := range cfg.Models {
		buckets += len(m.Buckets)
	}
	r.printf("%s, %s\n", count(len(cfg.Models), "model"), count(buckets, "bucket"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// playFleet replaces the fleet. An engine that stays keeps its reports, unless its
// generation is another.
func (r *run) playFleet(a *arguments, input string) error {
	if err := a.done(); err != nil {
		return err
	}
	var engines []*engine
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := r.engine(line)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		engines = append(engines, e)
	}
	r.service.engines, r.service.known = engines, true
	r.service.changed()
	r.printf("%s\n", count(len(engines), "engine"))
	return r.sync()
}

// engine reads one line of a fleet: ID, stage, settings.
func (r *run) engine(line string) (*engine, error) {
	_, args, err := (&parser{file: &File{}}).words(0, "engine "+line)
	if err != nil {
		return nil, err
	}
	a := readArguments(args)
	id := a.id("the engine")
	stage, ok := a.word()
	if !ok {
		stage = "plain"
	}
	role, ok := core.ParseStage(stage)
	if !ok {
		return nil, fmt.Errorf("%s is no stage; write plain, prefill or decode", stage)
	}
	e := &engine{}
	if was := r.service.find(id); was != nil {
		*e = *was
	}
	e.Worker = wire.Worker{
		ID: core.WorkerID(id), Address: r.service.address(core.WorkerID(id)), Stage: role, Healthy: true,
		Models: []string{"m"}, Generation: 1, Recoveries: e.Recoveries,
	}
	e.read(a)
	return e, a.done()
}

// read takes an engine's settings over.
func (e *engine) read(a *arguments) {
	if models, ok := a.list("models"); ok {
		e.Models = models
	}
	if adapters, ok := a.list("adapters"); ok {
		for _, pair := range adapters {
			name, base, _ := strings.Cut(pair, ":")
			e.Adapters = append(e.Adapters, core.Adapter{Name: name, Base: base})
		}
	}
	if services, ok := a.list("services"); ok {
		e.Services = services
	}
	e.Version, _ = a.text("version")
	e.Aborts, e.InputIDs = a.flag("aborts"), a.flag("input_ids")
	if n, ok := a.number("ranks"); ok {
		e.Ranks = uint32(n)
	}
	if n, ok := a.number("generation"); ok {
		e.live(n)
	}
	if n, ok := a.number("others"); ok {
		e.others = uint32(n)
	}
}

// live begins another life of the engine: what it reported in a former one is void.
func (e *engine) live(generation uint64) {
	e.Generation = generation
	e.reported = false
}

// playReport is what an engine says of its load now.
func (r *run) playReport(a *arguments, _ string) error {
	e, err := r.named(a)
	if err != nil {
		return err
	}
	if n, ok := a.number("others"); ok {
		e.others = uint32(n)
	}
	known := func(name string) core.Count {
		n, ok := a.number(name)
		return core.Count{N: n, Known: ok}
	}
	load := core.LoadReport{
		Running: known("running"), Waiting: known("waiting"), WaitingUncached: known("uncached"),
		KVUsed: known("kv_used"), KVTotal: known("kv_total"), KVCapacity: known("kv_capacity"), RunningCapacity: known("running_capacity"),
		PrefillRate: float64(known("rate").N),
	}
	if load != (core.LoadReport{}) {
		e.load, e.loadAt, e.reported = load, r.clock.Now(), true
	}
	if err := a.done(); err != nil {
		return err
	}
	return r.sync()
}

// named finds the engine that a step is about.
func (r *run) named(a *arguments) (*engine, error) {
	id := a.id("an engine, like \"report A running=2\"")
	if a.err != nil {
		return nil, a.err
	}
	e := r.service.find(id)
	if e == nil {
		return nil, fmt.Errorf("no engine %s; write one of the fleet step", id)
	}
	return e, nil
}

// change edits an engine and lets the filter learn of it.
func (r *run) change(a *arguments, edit func(*engine)) error {
	e, err := r.named(a)
	if err != nil {
		return err
	}
	edit(e)
	if err := a.done(); err != nil {
		return err
	}
	r.service.changed()
	return r.sync()
}

// playDrain takes an engine out of new requests.
func (r *run) playDrain(a *arguments, _ string) error {
	return r.change(a, func(e *engine) { e.Draining = true })
}

// playKill makes an engine's health probe fail.
func (r *run) playKill(a *arguments, _ string) error {
	return r.change(a, func(e *engine) { e.Healthy = false })
}

// playHeal makes the probe recover, in a new life of the engine if one is named.
func (r *run) playHeal(a *arguments, _ string) error {
	return r.change(a, func(e *engine) {
		if !e.Healthy {
			e.Recoveries++
		}
		e.Healthy, e.Draining = true, false
		if n, ok := a.number("generation"); ok {
			e.live(n)
		}
	})
}

// playDrop loses replies of the state service: some, all from now on, or none.
func (r *run) playDrop(a *arguments, _ string) error {
	n, some := a.number("replies")
	off := a.flag("off")
	if err := a.done(); err != nil {
		return err
	}
	switch {
	case off:
		r.service.losing = 0
	case some:
		r.service.losing = int(n)
	default:
		r.service.losing = -1
	}
	return nil
}

// playAdvance lets time pass.
func (r *run) playAdvance(a *arguments, _ string) error {
	d := a.parseDuration("", a.id("a time, like \"advance 5s\""))
	if err := a.done(); err != nil {
		return err
	}
	r.advance(d)
	r.show()
	r.printf("clock %v\n", r.now())
	return nil
}
