package bucket

import (
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/core"
)

// Group describes an engine group: who belongs to it and who chooses among them.
type Group struct {
	Members Members
	Policy  Policy
}

// EngineGroup picks an engine of one stage. Plain and PD make it from a Group.
type EngineGroup struct {
	policy     Policy
	roster     roster
	candidates []*core.Worker   // of the present pick; read-only, may be the roster's
	scratch    []*core.Worker   // what candidates are made in
	request    core.PickRequest // of the present pick
}

func newEngineGroup(g Group, stage core.Stage) *EngineGroup {
	return &EngineGroup{policy: g.Policy, roster: roster{stage: stage, members: g.Members}}
}

// Stage is the role of the group's engines.
func (g *EngineGroup) Stage() core.Stage { return g.roster.stage }

// Members are who belongs to the group.
func (g *EngineGroup) Members() Members { return g.roster.members }

// Policy chooses among the group's candidates.
func (g *EngineGroup) Policy() Policy { return g.policy }

// Pick chooses among the members that serve the model name the client asked for
// and are available. Without any it returns a *core.NoCandidatesError and does
// not call the policy. Errors carry the bucket and the stage.
func (g *EngineGroup) Pick(registry Registry, bucket string, req *core.BucketRequest) (core.Pick, error) {
	g.filter(registry, bucket, req)
	return g.choose(g.candidates, bucket, req)
}

// choose asks the policy for one of the candidates, all of the group's or those
// that fit the other half of a pair.
func (g *EngineGroup) choose(candidates []*core.Worker, bucket string, req *core.BucketRequest) (core.Pick, error) {
	if len(candidates) == 0 {
		return core.Pick{}, g.missing(bucket)
	}
	g.request = core.PickRequest{BucketRequest: req, Stage: g.Stage(), Bucket: bucket}
	pick, err := g.policy.Pick(candidates, &g.request)
	g.request.BucketRequest = nil
	if err != nil {
		return core.Pick{}, g.locate(bucket, err)
	}
	if !among(candidates, pick.Worker) {
		return core.Pick{}, g.locate(bucket, fmt.Errorf("%s: %w", g.policy.Name(), core.ErrOutsideCandidates))
	}
	return pick, nil
}

// among reports whether an engine is one of the candidates: by identity, not ID, for
// an engine that was replaced keeps its ID (invariant I1). Where all of a fleet are
// candidates it stands at its slot.
func among(candidates []*core.Worker, w *core.Worker) bool {
	if w != nil && w.Slot >= 0 && w.Slot < len(candidates) && candidates[w.Slot] == w {
		return true
	}
	return slices.Contains(candidates, w)
}

func (g *EngineGroup) missing(bucket string) error {
	return &core.NoCandidatesError{Bucket: bucket, Stage: g.Stage()}
}

// filter lists the candidates: available members, and the one that the request
// is bound to even if it drains.
func (g *EngineGroup) filter(registry Registry, bucket string, req *core.BucketRequest) {
	model := req.Asked
	if model == "" {
		model = req.Model
	}
	members := g.roster.entry(registry, model)
	if registry.Settled() {
		g.candidates = members.settled(registry, req.Now)
	} else {
		g.scratch = appendAvailable(g.scratch[:0], registry, members.workers, req.Now)
		g.candidates = g.scratch
	}
	if req.Placed != nil {
		g.admitDraining(registry, members.workers, req.Placed.Placed(bucket, g.Stage()), req.Now)
	}
	if req.Subset != nil {
		g.keep(req.Subset.Allows)
	}
	if len(req.Excluded) > 0 {
		g.keep(func(w *core.Worker) bool { return !slices.Contains(req.Excluded, w) })
	}
}

// admitDraining adds the engine that the request is bound to, if it is a member
// that does not take other requests only because it drains.
func (g *EngineGroup) admitDraining(registry Registry, members []*core.Worker, placed core.WorkerID, now core.Instant) {
	at, there := core.FindWorker(g.candidates, placed)
	if there || placed == "" {
		return
	}
	if member, ok := core.FindWorker(members, placed); ok && registry.Drains(members[member], now) {
		g.scratch = slices.Insert(append(g.scratch[:0], g.candidates...), at, members[member])
		g.candidates = g.scratch
	}
}

// keep narrows the candidates down to those that fit.
func (g *EngineGroup) keep(fits func(w *core.Worker) bool) {
	kept := g.scratch[:0]
	for _, w := range g.candidates {
		if fits(w) {
			kept = append(kept, w)
		}
	}
	g.candidates, g.scratch = kept, kept
}

// locate adds bucket and stage to an error that does not carry them itself.
func (g *EngineGroup) locate(bucket string, err error) error {
	if core.StageOf(err) != core.StageNone {
		return err
	}
	return fmt.Errorf("bucket %q: %s: %w", bucket, g.Stage(), err)
}

// problems names what keeps the group from working.
func (g *EngineGroup) problems() []string {
	found := g.Members().problems()
	if g.policy == nil {
		return append(found, "the group has no policy")
	}
	if err := g.policy.Supports(g.Stage()); err != nil {
		found = append(found, err.Error())
	}
	return found
}
