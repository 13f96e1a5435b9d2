// Package plugin is the filter as the host calls it: a plugin context per
// configuration and VM, and a stream context per HTTP stream. Callbacks become
// events of core/flow, effects become host calls.
package plugin

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
	"github.com/pointsman/pointsman/wasmfilter/internal/host"
	"github.com/pointsman/pointsman/wasmfilter/internal/version"
)

// plugin is one configuration in one VM.
type plugin struct {
	id       uint32
	config   *spec.Config
	needs    spec.Needs
	clock    host.Clock
	flow     *flow.Context
	arena    host.Arena
	headers  host.Headers
	event    flow.Event // reused: one callback runs at a time
	waiting  []*stream  // requests that wait for their body
	idle     []*stream  // streams that are over, for reuse
	sync     syncer
	calls    calls
	aborts   aborter
	metrics  metrics
	receipts bool
	line     []byte // receipt being written
	missing  string // members last reported missing
	warned   bool   // of header-only mode
	ticking  uint32 // period asked for, in milliseconds
	faulted  bool   // a fault was logged since the last tick
}

// New makes the context of a plugin.
func New(id uint32) abi.Plugin { return &plugin{id: id} }

// Configure implements abi.Plugin: it reads the configuration, refuses a bad one
// with every problem named, and starts the tick. No callout is made here: hosts
// run this once more than they have workers (W28).
func (p *plugin) Configure() bool {
	document, err := abi.PluginConfig()
	if err != nil {
		logf(abi.LevelCritical, "the plugin has no configuration: %v", err)
		return false
	}
	if err := p.start(document); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			abi.Log(abi.LevelCritical, line)
		}
		return false
	}
	return true
}

func logf(level abi.Level, format string, args ...any) {
	abi.Log(level, fmt.Sprintf(format, args...))
}

func (p *plugin) start(document []byte) error {
	cfg, err := spec.Decode(document)
	if err != nil {
		return err
	}
	cfg = spec.Defaults(cfg)
	members := fleet.New(cfg.BreakerConfig(), cfg.Static())
	seed, offset := seeds(cfg)
	views := &flow.Views{}
	router, err := spec.Build(cfg, spec.Handles{Load: members, Bindings: views, Prefixes: views, Offset: offset})
	if err != nil {
		return err
	}
	p.config, p.clock = cfg, host.NewClock()
	p.flow = flow.NewContext(cfg, router, members, seed)
	p.needs = p.flow.Needs()
	p.headers.Want(cfg, &p.needs)
	if p.needs.History {
		p.flow.UseShelf(&host.Shelf{})
	}
	if p.receipts = cfg.Receipts == spec.ReceiptsLog; !p.receipts {
		p.flow.Brief()
	}
	p.aborts.configure(cfg.Abort, cfg.EndpointHeader)
	if err := p.connect(views); err != nil {
		return err
	}
	p.announce()
	return p.setTick()
}

// connect prepares the calls to the state service, if there is one.
func (p *plugin) connect(views *flow.Views) error {
	var headers [][2]string
	state := p.config.State
	if state != nil {
		var err error
		if headers, err = stateHeaders(state); err != nil {
			return err
		}
	}
	p.sync.configure(p.config, headers)
	if state == nil {
		p.flow.UseState(flow.State{Views: views})
		return nil
	}
	p.calls.configure(state, headers)
	p.flow.UseState(flow.StateOf(p.config, p.flow.Router, views, p.sync.request.Context))
	return nil
}

// setTick asks the host for the period that fits, if it is not the present one.
func (p *plugin) setTick() error {
	want := p.sync.period(p.flow.Fleet.Known())
	if want == p.ticking {
		return nil
	}
	p.ticking = want
	return abi.SetTickPeriod(want)
}

// seeds draws the context's random seed, or takes the configured one: rotations
// then start at zero, so that runs repeat.
func seeds(cfg *spec.Config) (uint64, *rand.Rand) {
	if cfg.Seed != nil {
		return *cfg.Seed, nil
	}
	seed := rand.Uint64()
	return seed, rand.New(rand.NewPCG(seed, 0))
}

// announce logs the build and the settings in force (field report A40).
func (p *plugin) announce() {
	c := p.config
	state := "none"
	if c.State != nil {
		state = c.State.Cluster
	}
	logf(abi.LevelInfo, "filter %s (%s): models %d, endpoint mode %s, state cluster %s, sync every %d ms, body limit %d bytes, body time-out %d ms, on_no_state %s",
		version.Version, version.Commit, len(c.Models), c.EndpointMode, state, p.sync.tick, *c.MaxBodyBytes, *c.BodyTimeoutMillis, c.OnNoState)
	for _, line := range c.InForce() {
		abi.Log(abi.LevelInfo, line)
	}
}

// NewStream implements abi.Plugin.
func (p *plugin) NewStream(id uint32) abi.Stream {
	p.sync.sawStream = true
	var s *stream
	if n := len(p.idle); n > 0 {
		s, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		s = &stream{plugin: p}
	}
	s.begin(id)
	return s
}

// maxIdle bounds the streams kept for reuse after a burst.
const maxIdle = 256

// reuse takes a stream back that the host has deleted.
func (p *plugin) reuse(s *stream) {
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, s)
	}
}

// Tick implements abi.Plugin.
func (p *plugin) Tick() {
	now := p.clock.Now()
	p.faulted = false
	p.flow.Fleet.Expire(now)
	p.tickStreams()
	p.warnHeaderOnly()
	p.sync.run(p, now)
	p.calls.stream.tick(p, now)
	p.metrics.publish(&p.flow.Counters)
	if err := p.setTick(); err != nil {
		logf(abi.LevelError, "tick cannot be set: %v", err)
	}
}

// CallDone implements abi.Plugin.
func (p *plugin) CallDone(call uint32, headers, bodySize int) {
	if waiting, ok := p.calls.done(call); ok {
		p.event = waiting.answer(headers, bodySize)
		p.answered(waiting.stream)
		return
	}
	p.sync.reply(p, call, headers, bodySize)
}

// answered brings a waiting request the answer that the event has. The stream is the
// effective context meanwhile.
func (p *plugin) answered(s *stream) {
	p.event.Now = p.clock.Now()
	if s.request == nil {
		return
	}
	if err := abi.SetEffectiveContext(s.id); err == nil {
		s.perform(s.request.Step(&p.event), true)
	}
	if err := abi.SetEffectiveContext(p.id); err != nil {
		logf(abi.LevelError, "plugin context cannot be restored: %v", err)
	}
}

// await notes a stream that waits for its body. One that is noted still, from a
// former request, stays where it is.
func (p *plugin) await(s *stream) {
	if !s.awaited && s.request.Waiting() {
		s.awaited = true
		p.waiting = append(p.waiting, s)
	}
}

// tickStreams gives every waiting request its tick and forgets those that wait
// no more. The stream is the effective context meanwhile.
func (p *plugin) tickStreams() {
	if len(p.waiting) == 0 {
		return
	}
	still := p.waiting[:0]
	for _, s := range p.waiting {
		if !s.waits() {
			s.awaited = false
			continue
		}
		if err := abi.SetEffectiveContext(s.id); err == nil {
			p.event = flow.Event{Kind: flow.EventTick, Now: p.clock.Now()}
			s.tick(&p.event)
		}
		still = append(still, s)
	}
	clear(p.waiting[len(still):])
	p.waiting = still
	if err := abi.SetEffectiveContext(p.id); err != nil {
		logf(abi.LevelError, "plugin context cannot be restored: %v", err)
	}
}

// warnHeaderOnly says once that the host does not show bodies, and what to do
// about it.
func (p *plugin) warnHeaderOnly() {
	if p.warned || !p.flow.HeaderOnly() {
		return
	}
	p.warned = true
	logf(abi.LevelWarn, "this host does not show request bodies to a held request: routing by headers only (%s names the model). Set allow_on_headers_stop_iteration on the plugin to route by bodies", host.HeaderModel)
}

// fault logs why a request could not be handled, once a tick: what breaks one
// request breaks many.
func (p *plugin) fault(err error) {
	if !p.faulted {
		p.faulted = true
		logf(abi.LevelError, "a request was answered with 500: %v", err)
	}
}

// record logs a decision when the configuration asks for it.
func (p *plugin) record(r *flow.Request) {
	if !p.receipts {
		return
	}
	p.line = p.line[:0]
	p.line = r.Receipt().Append(p.line)
	abi.Log(abi.LevelInfo, string(p.line))
}
