package policy

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/pressure"
)

// LoadView is what a policy may know of the load of engines.
type LoadView interface {
	// Report gives the engine's report if it is fresh at now. The report is
	// read-only and must stay as it is until the pick returns.
	Report(w *core.Worker, now core.Instant) (*core.LoadReport, bool)
	// Inflight is the number of requests sent to the engine and not finished.
	Inflight(w *core.Worker) uint64
	// SinceReport is how many of the requests in flight this proxy sent at or
	// after the instant the engine's report was taken: what the report cannot
	// know yet.
	SinceReport(w *core.Worker) uint64
}

// observer reads the load of engines and admits by it.
type observer struct {
	limits     admission.Limits
	loads      LoadView
	rejections []core.Rejection // of the present pick
}

// newObserver refuses what a policy cannot work with. Zero caps are the
// business of admission.Limits.Validate, which knows their path.
func newObserver(name string, limits admission.Limits, loads LoadView) (observer, error) {
	if loads == nil {
		return observer{}, &core.ConfigError{Detail: name + " needs a load view"}
	}
	return observer{limits: limits, loads: loads}, nil
}

// observe reads one engine's load.
func (o *observer) observe(w *core.Worker, now core.Instant) pressure.Side {
	side := pressure.Side{Inflight: o.loads.Inflight(w)}
	if report, fresh := o.loads.Report(w, now); fresh {
		side.Report = report
	}
	return side
}

// admit checks an engine by a load that was observed before.
func (o *observer) admit(w *core.Worker, side pressure.Side) (core.Rejection, bool) {
	return o.limits.Check(w.ID, core.NewMetrics(side.Report, side.Inflight))
}

// try observes and admits an engine, and remembers a rejection. Without caps
// there is nothing to observe for.
func (o *observer) try(w *core.Worker, now core.Instant) bool {
	return o.limits.Empty() || o.pass(w, o.observe(w, now))
}

// pass admits an engine by a load that was observed before, and remembers a
// rejection.
func (o *observer) pass(w *core.Worker, side pressure.Side) bool {
	if o.limits.Empty() {
		return true
	}
	rejection, admitted := o.admit(w, side)
	if !admitted {
		o.rejections = append(o.rejections, rejection)
	}
	return admitted
}

// confirm gives a pick if admission lets its engine by a fresh observation, else
// a *core.AdmissionError: the one check an owner makes of one chosen engine.
func (o *observer) confirm(pick core.Pick, req *core.PickRequest) (core.Pick, error) {
	if o.limits.Empty() {
		return pick, nil
	}
	return o.check(pick, o.observe(pick.Worker, req.Now), req)
}

// check gives a pick if admission lets its engine by a load that was observed
// before, else a *core.AdmissionError.
func (o *observer) check(pick core.Pick, side pressure.Side, req *core.PickRequest) (core.Pick, error) {
	if rejection, admitted := o.admit(pick.Worker, side); !admitted {
		return core.Pick{}, &core.AdmissionError{Bucket: req.Bucket, Stage: req.Stage, Rejection: rejection}
	}
	return pick, nil
}

// exhausted says that every candidate was tried and rejected.
func (o *observer) exhausted(req *core.PickRequest) error {
	return &core.NoAdmissibleError{Bucket: req.Bucket, Stage: req.Stage, Rejections: slices.Clone(o.rejections)}
}

func noCandidates(req *core.PickRequest) error {
	return &core.NoCandidatesError{Bucket: req.Bucket, Stage: req.Stage}
}

func noRandomSource(name string) error {
	return &core.InvalidSignalError{Detail: name + ": the request has no random source"}
}

// anyStage accepts every role an engine can play.
func anyStage(name string, stage core.Stage) error {
	switch stage {
	case core.StagePlain, core.StagePrefill, core.StageDecode:
		return nil
	case core.StageNone:
	}
	return &core.ConfigError{Detail: name + ": not a stage: " + stage.String()}
}
