package server

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// toProto turns a reply into the generated form. Messages are cut from slabs, so
// that a reply costs few allocations per worker.
func toProto(r *wire.SyncReply) *wirepb.SyncReply {
	out := &wirepb.SyncReply{
		Replica: r.Replica, Version: r.Version, Full: r.Full, Seq: r.Seq,
		Workers: make([]*wirepb.Worker, len(r.Workers)),
		States:  make([]*wirepb.WorkerState, len(r.States)),
	}
	out.History = protoHistory(&r.History)
	for _, id := range r.Removed {
		out.Removed = append(out.Removed, string(id))
	}
	workers := make([]wirepb.Worker, len(r.Workers))
	for i := range r.Workers {
		fillWorker(&workers[i], &r.Workers[i])
		out.Workers[i] = &workers[i]
	}
	states := make([]wirepb.WorkerState, len(r.States))
	reports := make([]wirepb.LoadReport, len(r.States))
	for i := range r.States {
		fillState(&states[i], &reports[i], &r.States[i])
		out.States[i] = &states[i]
	}
	return out
}

func fillWorker(out *wirepb.Worker, w *wire.Worker) {
	out.Id, out.Address, out.Models = string(w.ID), w.Address, w.Models
	out.Stage, out.VersionGroup, out.Generation = stage(w.Stage), w.Version, w.Generation
	out.Healthy, out.Draining, out.Recoveries = w.Healthy, w.Draining, w.Recoveries
	out.Aborts, out.Services = w.Aborts, w.Services
	out.Ranks, out.InputIds = w.Ranks, w.InputIDs
	for _, a := range w.Adapters {
		out.Adapters = append(out.Adapters, &wirepb.Adapter{Name: a.Name, Base: a.Base})
	}
}

func stage(s core.Stage) wirepb.Stage {
	switch s {
	case core.StagePlain:
		return wirepb.Stage_STAGE_PLAIN
	case core.StagePrefill:
		return wirepb.Stage_STAGE_PREFILL
	case core.StageDecode:
		return wirepb.Stage_STAGE_DECODE
	case core.StageNone:
		return wirepb.Stage_STAGE_NONE
	}
	return wirepb.Stage_STAGE_NONE
}

func fillState(out *wirepb.WorkerState, report *wirepb.LoadReport, s *wire.WorkerState) {
	out.Id, out.Generation, out.OthersInflight = string(s.ID), s.Generation, s.OthersInflight
	if !s.HasReport {
		return
	}
	r := &s.Report
	report.AgeMs = s.AgeMillis
	report.Running, report.Waiting = optional(&r.Running), optional(&r.Waiting)
	report.WaitingUncached = optional(&r.WaitingUncached)
	report.KvUsed, report.KvTotal = optional(&r.KVUsed), optional(&r.KVTotal)
	report.KvCapacity, report.RunningCapacity = optional(&r.KVCapacity), optional(&r.RunningCapacity)
	if r.PrefillRate > 0 {
		report.PrefillRate = new(r.PrefillRate)
	}
	out.Report = report
}

// optional points at a known count and is nil for an unknown one.
func optional(c *core.Count) *uint64 {
	if !c.Known {
		return nil
	}
	return &c.N
}
