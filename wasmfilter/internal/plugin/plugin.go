// Package plugin is the filter as the SDK calls it: a plugin context per
// configuration and VM, and a stream context per HTTP stream. Callbacks become
// events of core/flow, effects become host calls.
package plugin

import (
	"math/rand/v2"
	"strings"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/wasmfilter/internal/host"
	"github.com/pointsman/pointsman/wasmfilter/internal/version"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

// plugin is one configuration in one VM.
type plugin struct {
	types.DefaultPluginContext
	id       uint32
	config   *spec.Config
	needs    spec.Needs
	clock    host.Clock
	flow     *flow.Context
	arena    host.Arena
	headers  host.RequestHeaders
	event    flow.Event // reused: one callback runs at a time
	waiting  []*stream  // requests that wait for their body, oldest first
	sync     syncer
	metrics  metrics
	receipts bool
	line     []byte // receipt being written
	missing  string // members last reported missing
	warned   bool   // of header-only mode
	ticking  uint32 // period asked for, in milliseconds
	faulted  bool   // a fault was logged since the last tick
}

// New makes the context of a plugin. It is the SDK's entry point.
func New(id uint32) types.PluginContext { return &plugin{id: id} }

// OnPluginStart implements types.PluginContext: it reads the configuration,
// refuses a bad one with every problem named, and starts the tick. No callout
// is made here: hosts run this once more than they have workers (W28).
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	document, err := proxywasm.GetPluginConfiguration()
	if err != nil {
		proxywasm.LogCriticalf("the plugin has no configuration: %v", err)
		return types.OnPluginStartStatusFailed
	}
	if err := p.start(document); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			proxywasm.LogCritical("" + line)
		}
		return types.OnPluginStartStatusFailed
	}
	return types.OnPluginStartStatusOK
}

func (p *plugin) start(document []byte) error {
	cfg, err := spec.Decode(document)
	if err != nil {
		return err
	}
	cfg = spec.Defaults(cfg)
	members := fleet.New(cfg.BreakerConfig(), cfg.Static())
	seed, offset := seeds(cfg)
	router, err := spec.Build(cfg, spec.Handles{Load: members, Offset: offset})
	if err != nil {
		return err
	}
	p.config, p.clock = cfg, host.NewClock()
	p.flow = flow.NewContext(cfg, router, members, seed)
	p.needs = p.flow.Needs()
	p.receipts = cfg.Receipts == spec.ReceiptsLog
	if err := p.sync.configure(cfg); err != nil {
		return err
	}
	p.announce()
	return p.setTick()
}

// setTick asks the host for the period that fits, if it is not the present one.
func (p *plugin) setTick() error {
	want := p.sync.period(p.flow.Fleet.Known())
	if want == p.ticking {
		return nil
	}
	p.ticking = want
	return proxywasm.SetTickPeriodMilliSeconds(want)
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
	proxywasm.LogInfof("filter %s (%s): models %d, endpoint mode %s, state cluster %s, sync every %d ms, body limit %d bytes, body time-out %d ms, on_no_state %s",
		version.Version, version.Commit, len(c.Models), c.EndpointMode, state, p.sync.tick, *c.MaxBodyBytes, *c.BodyTimeoutMillis, c.OnNoState)
}

// NewHttpContext implements types.PluginContext.
func (p *plugin) NewHttpContext(id uint32) types.HttpContext {
	p.sync.sawStream = true
	return &stream{plugin: p, id: id, request: p.flow.NewRequest()}
}

// OnTick implements types.PluginContext.
func (p *plugin) OnTick() {
	now := p.clock.Now()
	p.faulted = false
	p.flow.Fleet.Expire(now)
	p.tickStreams()
	p.warnHeaderOnly()
	p.sync.run(p, now)
	p.metrics.publish(&p.flow.Counters)
	if err := p.setTick(); err != nil {
		proxywasm.LogErrorf("tick cannot be set: %v", err)
	}
}

// await notes a stream that waits for its body.
func (p *plugin) await(s *stream) {
	if s.request.Waiting() {
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
		if s.request == nil || !s.request.Waiting() {
			continue
		}
		if err := proxywasm.SetEffectiveContext(s.id); err == nil {
			p.event = flow.Event{Kind: flow.EventTick, Now: p.clock.Now()}
			s.tick(&p.event)
		}
		if s.request.Waiting() {
			still = append(still, s)
		}
	}
	clear(p.waiting[len(still):])
	p.waiting = still
	if err := proxywasm.SetEffectiveContext(p.id); err != nil {
		proxywasm.LogErrorf("plugin context cannot be restored: %v", err)
	}
}

// warnHeaderOnly says once that the host does not show bodies, and what to do
// about it.
func (p *plugin) warnHeaderOnly() {
	if p.warned || !p.flow.HeaderOnly() {
		return
	}
	p.warned = true
	proxywasm.LogWarnf("this host does not show request bodies to a held request: routing by headers only (%s names the model). Set allow_on_headers_stop_iteration on the plugin to route by bodies", host.HeaderModel)
}

// fault logs why a request could not be handled, once a tick: what breaks one
// request breaks many.
func (p *plugin) fault(err error) {
	if !p.faulted {
		p.faulted = true
		proxywasm.LogErrorf("a request was answered with 500: %v", err)
	}
}

// record logs a decision when the configuration asks for it.
func (p *plugin) record(r *flow.Request) {
	if !p.receipts {
		return
	}
	p.line = p.line[:0]
	p.line = r.Receipt().Append(p.line)
	proxywasm.LogInfo(string(p.line))
}
