package policy

import (
	"cmp"
	"math/bits"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/pressure"
)

// LoadBased looks at every candidate and takes the admitted one with the lowest
// load score (engine-selection.md 6 and 8.4). Equal scores go by requests in
// flight, complete ties rotate. Single-threaded.
type LoadBased struct {
	observer
	rotor    uint64
	surveyed []surveyed // of the present pick, in the order of the candidates
	lowest   []int      // of the present pick: who share the lowest load
}

// surveyed is one candidate's load.
type surveyed struct {
	side  pressure.Side
	score uint64 // by its report; means nothing without one
}

// NewLoadBased makes a LoadBased whose rotation over ties begins at start, as
// that of NewRoundRobin. It refuses a nil load view with a *core.ConfigError.
func NewLoadBased(limits admission.Limits, loads LoadView, start uint64) (*LoadBased, error) {
	o, err := newObserver("load_based", limits, loads)
	if err != nil {
		return nil, err
	}
	return &LoadBased{observer: o, rotor: start}, nil
}

// Name is the policy's name in configuration.
func (p *LoadBased) Name() string { return "load_based" }

// Supports reports nil for every stage an engine can play.
func (p *LoadBased) Supports(stage core.Stage) error { return anyStage(p.Name(), stage) }

// Pick takes the least loaded admitted engine. Each candidate is observed once,
// and admission sees that observation. A *core.NoAdmissibleError lists every
// rejection when none is admitted.
func (p *LoadBased) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	p.findLowest(engines, p.survey(engines, req.Now))
	if len(p.lowest) == 0 {
		return core.Pick{}, p.exhausted(req)
	}
	w := engines[p.lowest[p.rotor%uint64(len(p.lowest))]]
	if req.Rotates() {
		p.rotor++
	}
	return core.Pick{Worker: w, Reason: core.ReasonLoadBased}, nil
}

// survey observes every candidate. It tells whether all of them have a fresh
// report of what runs and waits: only then are reports compared.
func (p *LoadBased) survey(engines []*core.Worker, now core.Instant) (reported bool) {
	p.surveyed = p.surveyed[:0]
	reported = true
	for _, w := range engines {
		side := p.observe(w, now)
		score, known := p.score(w, side)
		reported = reported && known
		p.surveyed = append(p.surveyed, surveyed{side, score})
	}
	return reported
}

// score adds to what the engine reported what this proxy has sent it since, so
// that picks between two reports see each other.
func (p *LoadBased) score(w *core.Worker, side pressure.Side) (score uint64, known bool) {
	r := side.Report
	if r == nil || !r.Running.Known || !r.Waiting.Known {
		return 0, false
	}
	return plus(plus(r.Waiting.N, r.Running.N), p.loads.SinceReport(w)), true
}

// findLowest lists the admitted candidates that share the lowest load. Unless
// all candidates are reported, requests in flight decide for all: a reported
// value is never compared with a local one. Admission is asked of those only
// that would be among the lowest, so of all when it lets none through.
func (p *LoadBased) findLowest(engines []*core.Worker, reported bool) {
	p.lowest, p.rejections = p.lowest[:0], p.rejections[:0]
	var least, inflight uint64
	for i := range p.surveyed {
		c := &p.surveyed[i]
		if !reported {
			c.score = c.side.Inflight
		}
		order := cmp.Or(cmp.Compare(c.score, least), cmp.Compare(c.side.Inflight, inflight))
		if len(p.lowest) > 0 && order > 0 {
			continue
		}
		if !p.pass(engines[i], c.side) {
			continue
		}
		if order != 0 {
			p.lowest = p.lowest[:0]
		}
		least, inflight, p.lowest = c.score, c.side.Inflight, append(p.lowest, i)
	}
}

// plus adds and stays at the largest number instead of starting over.
func plus(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}
