package bucket

import "github.com/pointsman/pointsman/core"

// Groups are the engine groups of a bucket: a plain one, or prefill and decode.
// Only Plain and PD make them, so a bucket with one half of a pair, or with both
// shapes, cannot be written down.
type Groups interface {
	pick(registry Registry, bucket string, req *core.BucketRequest) (Selection, error)
	engineGroups() []*EngineGroup
}

// Plain makes one engine serve the whole request.
func Plain(engines Group) Groups {
	return plain{newEngineGroup(engines, core.StagePlain)}
}

// PD makes one engine prefill and another decode.
func PD(prefill, decode Group) Groups {
	return pair{newEngineGroup(prefill, core.StagePrefill), newEngineGroup(decode, core.StageDecode)}
}

type plain struct{ engines *EngineGroup }

func (p plain) pick(registry Registry, bucket string, req *core.BucketRequest) (Selection, error) {
	engine, err := p.engines.Pick(registry, bucket, req)
	if err != nil {
		return Selection{}, err
	}
	return Selection{first: engine, candidates: p.engines.candidates}, nil
}

func (p plain) engineGroups() []*EngineGroup { return []*EngineGroup{p.engines} }

type pair struct{ prefill, decode *EngineGroup }

// pick discards the prefill engine when no decode engine joins it.
func (p pair) pick(registry Registry, bucket string, req *core.BucketRequest) (Selection, error) {
	prefill, err := p.prefill.Pick(registry, bucket, req)
	if err != nil {
		return Selection{}, err
	}
	decode, err := p.decode.Pick(registry, bucket, req)
	if err != nil {
		return Selection{}, err
	}
	return Selection{first: prefill, decode: decode, candidates: p.prefill.candidates}, nil
}

func (p pair) engineGroups() []*EngineGroup { return []*EngineGroup{p.prefill, p.decode} }

// Selection is a complete selection: one plain engine, or a pair of one bucket
// (invariant I2). The zero value is neither; it comes with an error only.
type Selection struct {
	first      core.Pick      // plain or prefill
	decode     core.Pick      // of a pair
	candidates []*core.Worker // of the first
}

// Candidates lists the engines that the plain or the prefill engine was chosen
// among, in ID order. The list is read-only and valid until the next pick.
func (p Selection) Candidates() []*core.Worker { return p.candidates }

// Plain gives the engine that serves the whole request, false for a pair.
func (p Selection) Plain() (core.Pick, bool) {
	if p.first.Worker == nil || p.decode.Worker != nil {
		return core.Pick{}, false
	}
	return p.first, true
}

// Pair gives the prefill and the decode engine, false for a plain pick.
func (p Selection) Pair() (prefill, decode core.Pick, isPair bool) {
	if p.decode.Worker == nil {
		return core.Pick{}, core.Pick{}, false
	}
	return p.first, p.decode, true
}
