package server

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/history"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// historyOf reads what a context has sent where; a report may have none.
func historyOf(h *wirepb.History) wire.History {
	if h == nil {
		return wire.History{}
	}
	out := wire.History{Present: true, Log: h.GetLog(), Cursor: h.GetCursor()}
	for _, run := range h.GetRuns() {
		out.Runs = append(out.Runs, runOf(run))
	}
	return out
}

// protoHistory turns what others have sent where into the generated form.
func protoHistory(h *wire.History) *wirepb.History {
	if !h.Present {
		return nil
	}
	out := &wirepb.History{Log: h.Log, Cursor: h.Cursor}
	for i := range h.Runs {
		out.Runs = append(out.Runs, protoRun(&h.Runs[i]))
	}
	return out
}

func runOf(r *wirepb.Run) wire.Run {
	run := wire.Run{
		Worker: core.WorkerID(r.GetWorker()), Generation: r.GetGeneration(), Parent: r.GetParent(),
		Hashes: r.GetHashes(), Sizes: make([]uint16, len(r.GetSizes())),
	}
	for i, size := range r.GetSizes() {
		run.Sizes[i] = uint16(size)
	}
	return run
}

func protoRun(r *wire.Run) *wirepb.Run {
	out := &wirepb.Run{
		Worker: string(r.Worker), Generation: r.Generation, Parent: r.Parent,
		Hashes: r.Hashes, Sizes: make([]uint32, len(r.Sizes)),
	}
	for i, size := range r.Sizes {
		out.Sizes[i] = uint32(size)
	}
	return out
}

// checkHistory holds what a context has sent where against the contract.
func (s *Server) checkHistory(h *wirepb.History) error {
	all := 0
	for i, run := range h.GetRuns() {
		all += len(run.GetHashes())
		if err := s.checkRun(run); err != nil {
			return fmt.Errorf("runs[%d]: %w", i, err)
		}
	}
	if all > history.MaxReport {
		return fmt.Errorf("runs: more than %d hashes in all", history.MaxReport)
	}
	return nil
}

func (s *Server) checkRun(r *wirepb.Run) error {
	switch {
	case r.GetWorker() == "":
		return errors.New("worker: missing")
	case len(r.GetWorker()) > s.limits.MaxStringBytes:
		return fmt.Errorf("worker: longer than %d bytes", s.limits.MaxStringBytes)
	case len(r.GetHashes()) == 0:
		return errors.New("hashes: missing")
	case len(r.GetSizes()) != len(r.GetHashes()):
		return fmt.Errorf("sizes: %d for %d hashes", len(r.GetSizes()), len(r.GetHashes()))
	}
	for _, size := range r.GetSizes() {
		if size == 0 || size > history.MaxSize {
			return fmt.Errorf("sizes: %d is not from 1 to %d", size, history.MaxSize)
		}
	}
	return nil
}

// Departed forgets what contexts sent to an engine that left the fleet.
func (s *Server) Departed(worker core.WorkerID) { s.history.Forget(worker) }
