package bucket

import "github.com/pointsman/pointsman/core"

// Groups are the engine groups of a bucket: a plain one, or prefill and decode.
// Only Plain and PD make them, so a bucket with one half of a pair, or with both
// shapes, cannot be written down.
type Groups interface {
	// pick completes a selection: what kept holds is kept where it still fits.
	pick(registry Registry, bucket string, req *core.BucketRequest, kept Selection) (Selection, error)
	engineGroups() []*EngineGroup
}

// Plain makes one engine serve the whole request.
func Plain(engines Group) Groups {
	return plain{newEngineGroup(engines, core.StagePlain)}
}

// PD makes one engine prefill and another decode.
func PD(prefill, decode Group) Groups {
	return &pair{prefill: newEngineGroup(prefill, core.StagePrefill), decode: newEngineGroup(decode, core.StageDecode)}
}

type plain struct{ engines *EngineGroup }

func (p plain) pick(registry Registry, bucket string, req *core.BucketRequest, kept Selection) (Selection, error) {
	if kept.first.Worker != nil {
		return kept, nil
	}
	engine, err := p.engines.Pick(registry, bucket, req)
	if err != nil {
		return Selection{}, err
	}
	return Selection{first: engine, candidates: p.engines.candidates}, nil
}

func (p plain) engineGroups() []*EngineGroup { return []*EngineGroup{p.engines} }

// Selection is a complete selection: one plain engine, or a pair of one bucket
// (invariant I2). The zero value is neither; it comes with an error only.
type Selection struct {
	first      core.Pick // plain or prefill
	decode     core.Pick // of a pair
	pair       bool
	moved      bool           // see Moved
	candidates []*core.Worker // of the first
}

// Candidates lists the engines that the plain or the prefill engine was chosen
// among, in ID order. The list is read-only and valid until the next pick.
func (p Selection) Candidates() []*core.Worker { return p.candidates }

// Plain gives the engine that serves the whole request, false for a pair.
func (p Selection) Plain() (core.Pick, bool) {
	if p.pair || p.first.Worker == nil {
		return core.Pick{}, false
	}
	return p.first, true
}

// Pair gives the prefill and the decode engine, false for a plain pick.
func (p Selection) Pair() (prefill, decode core.Pick, isPair bool) {
	if !p.pair || !p.Whole() {
		return core.Pick{}, core.Pick{}, false
	}
	return p.first, p.decode, true
}

// Pick gives the engine of one stage, false when the selection has none.
func (p Selection) Pick(stage core.Stage) (core.Pick, bool) {
	pick := p.first
	switch {
	case p.pair == (stage == core.StagePlain):
		pick = core.Pick{}
	case stage == core.StageDecode:
		pick = p.decode
	}
	return pick, pick.Worker != nil
}

// Whole reports whether no pick is missing. Only Without makes one that is not.
func (p Selection) Whole() bool {
	return p.first.Worker != nil && (!p.pair || p.decode.Worker != nil)
}

// Moved reports whether the pair is of another version group than the one its
// policies chose first, because no decode engine there was admitted. What a key
// is bound to stands then.
func (p Selection) Moved() bool { return p.moved }

// Without is the selection less its pick of a stage, for Bucket.Resume.
func (p Selection) Without(stage core.Stage) Selection {
	if stage == core.StageDecode {
		p.decode = core.Pick{}
	} else {
		p.first = core.Pick{}
	}
	return p
}

// Kept is the selection with its candidates copied into a list of the caller's,
// so that it outlives the next pick.
func (p Selection) Kept(list []*core.Worker) Selection {
	p.candidates = append(list[:0], p.candidates...)
	return p
}
