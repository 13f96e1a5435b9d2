package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
)

// maxSource is the longest name of a prefix source, in bytes.
const maxSource = 64

// caching checks the parameters of cache_aware (engine-selection.md 9.1).
func (v *validator) caching(at string, stage core.Stage, p *Policy) {
	if stage == core.StageDecode {
		v.add(at+".type", "cache_aware looks at prompt prefixes, which decode engines do not compute", "use power_of_two on decode groups")
	}
	if p.Source != "" && !sourceName(p.Source) {
		v.add(at+".source", strconv.Quote(p.Source)+" is not the name of a prefix source", fmt.Sprintf("use 1 to %d lower-case letters, digits, hyphens or underscores", maxSource))
	}
	if source := p.caching().Source; v.sources != nil && sourceName(source) && !slices.Contains(v.sources, source) {
		v.add(at+".source", strconv.Quote(source)+" is not a prefix source of this version", `write "source": "`+strings.Join(v.sources, `" or "`)+`"`)
	}
	if p.caching().Source != policy.SourceHistory && v.cfg.State == nil && v.whole.fleet {
		v.add(at+".source", strconv.Quote(p.caching().Source)+" is looked up in the state service, and there is no \"state\"",
			`write "state": {"cluster": ...}, or "source": "`+policy.SourceHistory+`", which needs none`)
	}
	if p.caching().Private && p.caching().Source == policy.SourceRemote {
		v.add(at+".private_match", "an indexer does not tell what prompts share", `leave it out or use "source": "local" or "history"`)
	}
	v.share(at+".min_match_ratio", p.MinMatchRatio)
	v.share(at+".candidate_ratio", p.CandidateRatio)
	v.candidates(at, p)
	v.queue(at, p)
	v.between(at+".min_load_choices", p.MinLoadChoices, 1, maxChoices)
	if p.PressureGuard != nil {
		v.guard(at, p)
	}
}

func (v *validator) candidates(at string, p *Policy) {
	v.atLeastOne(at+".candidate_min_workers", p.CandidateMinWorkers)
	v.atLeastOne(at+".candidate_max_workers", p.CandidateMaxWorkers)
	least := valueOr(p.CandidateMinWorkers, policy.DefaultCandidateMinWorkers)
	most := valueOr(p.CandidateMaxWorkers, policy.DefaultCandidateMaxWorkers)
	if least > most && most > 0 {
		path := at + ".candidate_min_workers"
		if p.CandidateMinWorkers == nil {
			path = at + ".candidate_max_workers"
		}
		v.add(path, fmt.Sprintf("at least %d candidates of at most %d", least, most), "set candidate_min_workers to candidate_max_workers or less")
	}
}

func (v *validator) queue(at string, p *Policy) {
	v.atLeastOne(at+".worker_queue_limit", p.WorkerQueueLimit)
	v.atLeastOne(at+".saturation_queue_floor", p.SaturationQueueFloor)
	switch {
	case p.SaturationQueueFloor == nil:
	case p.WorkerQueueLimit == nil:
		v.add(at+".saturation_queue_floor", "has no effect without worker_queue_limit", "set worker_queue_limit or leave it out")
	case *p.SaturationQueueFloor > *p.WorkerQueueLimit && *p.WorkerQueueLimit > 0:
		v.add(at+".saturation_queue_floor", fmt.Sprintf("%d is above worker_queue_limit %d", *p.SaturationQueueFloor, *p.WorkerQueueLimit), "lower it or raise worker_queue_limit")
	}
}

func (v *validator) guard(at string, p *Policy) {
	g := p.PressureGuard
	path := at + ".pressure_guard"
	if g.Off && p.SwitchMarginTokens != nil {
		v.add(at+".switch_margin_tokens", "has no effect: only the pressure guard switches to an engine that holds less", `leave it out or leave "pressure_guard": false out`)
	}
	if ms := g.AbsThresholdMillis; ms != nil && (!(*ms >= 0) || math.IsInf(*ms, 0)) {
		v.add(path+".abs_threshold_ms", fmt.Sprintf("%v is out of range", *ms), "use a number of at least 0")
	}
	if rel := g.RelThreshold; rel != nil && (!(*rel > 1) || math.IsInf(*rel, 0)) {
		v.add(path+".rel_threshold", fmt.Sprintf("%v is out of range", *rel), "use a number above 1")
	}
}

func (v *validator) share(path string, value *float64) {
	if value != nil && !(*value >= 0 && *value <= 1) {
		v.add(path, fmt.Sprintf("%v is out of range", *value), "use a number from 0 to 1")
	}
}

func (v *validator) atLeastOne(path string, value *uint64) {
	if value != nil && *value == 0 {
		v.add(path, "0 is out of range", "use at least 1 or leave it out")
	}
}

// sourceName reports whether a name may stand in metrics and messages.
func sourceName(name string) bool {
	return len(name) <= maxSource && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
