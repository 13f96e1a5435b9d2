package bucket

import (
	"errors"
	"slices"

	"github.com/pointsman/pointsman/core"
)

// pair picks a prefill and a decode engine of one version group
// (engine-selection.md 2.5).
type pair struct {
	prefill, decode *EngineGroup
	versions        []string       // scratch: version groups with a decode engine
	fitting         []*core.Worker // scratch: decode engines of the prefill's group
}

func (p *pair) engineGroups() []*EngineGroup { return []*EngineGroup{p.prefill, p.decode} }

// pick tries one version group after the other, in the order that the prefill
// policy chooses them, until a decode engine joins the prefill engine. A prefill
// engine that none joins is discarded.
func (p *pair) pick(registry Registry, bucket string, req *core.BucketRequest, kept Selection) (Selection, error) {
	p.prefill.filter(registry, bucket, req)
	p.decode.filter(registry, bucket, req)
	if err := p.match(bucket); err != nil {
		return Selection{}, err
	}
	for moved := false; ; {
		picked, err := p.pickFirst(bucket, req, kept)
		if err != nil {
			return Selection{}, err
		}
		picked.decode, err = p.join(bucket, req, picked.first.Worker.Version, kept.decode)
		if err == nil {
			picked.moved = moved
			return picked, nil
		}
		if !core.Advance(err) || !p.drop(picked.first.Worker.Version) {
			return Selection{}, err
		}
		kept.first, moved = core.Pick{}, moved || errors.Is(err, core.ErrRejected)
	}
}

// match leaves the prefill candidates whose version group has a decode engine.
func (p *pair) match(bucket string) error {
	if len(p.prefill.candidates) == 0 {
		return p.prefill.missing(bucket)
	}
	p.versions = p.versions[:0]
	for _, w := range p.decode.candidates {
		if !slices.Contains(p.versions, w.Version) {
			p.versions = append(p.versions, w.Version)
		}
	}
	p.prefill.keep(func(w *core.Worker) bool { return slices.Contains(p.versions, w.Version) })
	if len(p.prefill.candidates) == 0 {
		return p.decode.missing(bucket)
	}
	return nil
}

// pickFirst gives the kept prefill engine, with the candidates it was chosen
// among, or picks one.
func (p *pair) pickFirst(bucket string, req *core.BucketRequest, kept Selection) (Selection, error) {
	if kept.first.Worker != nil {
		return Selection{pair: true, first: kept.first, candidates: kept.candidates}, nil
	}
	prefill, err := p.prefill.choose(p.prefill.candidates, bucket, req)
	return Selection{pair: true, first: prefill, candidates: p.prefill.candidates}, err
}

// join gives the kept decode engine when it is of the version group, or picks
// one that is.
func (p *pair) join(bucket string, req *core.BucketRequest, version string, kept core.Pick) (core.Pick, error) {
	if kept.Worker != nil && kept.Worker.Version == version {
		return kept, nil
	}
	fitting := p.decode.candidates
	if len(p.versions) > 1 || (len(p.versions) == 1 && p.versions[0] != version) {
		p.fitting = p.fitting[:0]
		for _, w := range p.decode.candidates {
			if w.Version == version {
				p.fitting = append(p.fitting, w)
			}
		}
		fitting = p.fitting
	}
	return p.decode.choose(fitting, bucket, req)
}

// drop takes a version group's prefill engines off the candidates and reports
// whether any are left.
func (p *pair) drop(version string) bool {
	p.prefill.keep(func(w *core.Worker) bool { return w.Version != version })
	return len(p.prefill.candidates) > 0
}
