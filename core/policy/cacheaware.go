package policy

import (
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/pressure"
)

// CacheAware takes an engine that holds much of the prompt already, unless its
// queue speaks against it, and goes by pressure when there is none
// (engine-selection.md 9). Single-threaded.
type CacheAware struct {
	observer
	caching  Caching
	prefixes PrefixView

	// Of the present pick. Nothing in them outlives it.
	lookup  Lookup
	grade   grade
	hits    []hit
	shares  []hit // of what many prompts share only
	holders []holder
	gated   []holder
	pool    []*core.Worker
	sharers []*core.Worker
	sample  sampler
	busy    mean
	guard   core.GuardVerdict
}

// holder is one engine that holds enough of the prompt.
type holder struct {
	worker   *core.Worker
	side     pressure.Side
	matched  uint64 // tokens of the prompt it holds
	uncached uint64 // tokens it would have to compute
}

// grade is what a depth is worth. Many engines hold the same of a prompt.
type grade struct {
	depth, matched uint64
	enough, counts bool // to be looked at; to be a hit
}

// NewCacheAware makes a CacheAware. Settings out of their ranges and nil views
// are a *core.ConfigError.
func NewCacheAware(c Caching, limits admission.Limits, loads LoadView, prefixes PrefixView) (*CacheAware, error) {
	if problem := c.problem(); problem != "" {
		return nil, &core.ConfigError{Detail: "cache_aware: " + problem}
	}
	o, err := newObserver("cache_aware", limits, loads)
	if err != nil {
		return nil, err
	}
	if prefixes == nil {
		return nil, &core.ConfigError{Detail: "cache_aware needs a view of prefixes"}
	}
	return &CacheAware{observer: o, caching: c, prefixes: prefixes}, nil
}

// Name is the policy's name in configuration.
func (p *CacheAware) Name() string { return "cache_aware" }

// Supports refuses decode: a decode engine gets its KV from its prefill engine,
// not from its own cache.
func (p *CacheAware) Supports(stage core.Stage) error {
	if stage == core.StageDecode {
		return &core.ConfigError{Detail: p.Name() + " looks at prompt prefixes, which decode does not compute; use power_of_two on decode groups"}
	}
	return anyStage(p.Name(), stage)
}

// Pick takes the best of the engines that hold enough of the prompt. Admission
// is never passed over: when it rejects all of them the pick is a
// *core.NoAdmissibleError, and no engine without the prefix is tried. Only when
// none of them was asked does the miss fallback choose, whose rejection is a
// *core.AdmissionError. A lookup that the source refuses is a
// *core.InvalidSignalError.
func (p *CacheAware) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	if err := p.Supports(req.Stage); err != nil {
		return core.Pick{}, err
	}
	p.lookup = p.prefixes.Lookup(p.caching.Source, p.caching.least(req.Input), req)
	if p.lookup.Outcome == LookupInvalid {
		return core.Pick{}, &core.InvalidSignalError{Detail: fmt.Sprintf("prefix source %s refused the lookup: %s", p.caching.Source, p.lookup.Detail)}
	}
	pick, err := p.decide(engines, req)
	p.forget()
	return pick, err
}

func (p *CacheAware) decide(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	p.rejections, p.guard = p.rejections[:0], core.GuardUnasked
	p.gather(engines, req)
	pick, found := p.resolve(engines, req.Now)
	switch {
	case found:
		return pick, nil
	case len(p.rejections) > 0:
		return core.Pick{}, p.exhausted(req)
	}
	return p.miss(engines, req)
}

// found reports whether the source knows of blocks at all. An answer about no
// blocks tells nothing about any engine.
func (p *CacheAware) found() bool { return p.lookup.Outcome == LookupHit && p.lookup.Blocks > 0 }

// closed reports whether an engine's queue keeps it from being preferred: at the
// limit it does, an unknown queue does not.
func (p *CacheAware) closed(report *core.LoadReport) bool {
	return p.caching.WorkerQueueLimit > 0 && report != nil && report.Waiting.Known && report.Waiting.N >= p.caching.WorkerQueueLimit
}

// queued is closed for an engine that was not observed yet.
func (p *CacheAware) queued(w *core.Worker, now core.Instant) bool {
	report, fresh := p.loads.Report(w, now)
	return fresh && p.closed(report)
}

// forget lets go of the engines and reports of a pick.
func (p *CacheAware) forget() {
	clear(p.holders)
	clear(p.gated)
	clear(p.pool)
	clear(p.sharers)
	p.holders, p.gated, p.pool, p.sharers = p.holders[:0], p.gated[:0], p.pool[:0], p.sharers[:0]
	p.lookup = Lookup{}
}
