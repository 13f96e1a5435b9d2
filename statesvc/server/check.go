package server

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/protobuf/encoding/protowire"
)

// workersField is the number of SyncRequest.workers in pointsman.proto.
const workersField = 9

// countWorkers counts the gauges of an encoded report up to one above most,
// before anything is allocated for them. A malformed body ends the count; the
// decoder refuses it.
func countWorkers(body []byte, most int) int {
	count := 0
	for len(body) > 0 && count <= most {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return count
		}
		body = body[n:]
		if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
			return count
		}
		body = body[n:]
		if number == workersField {
			count++
		}
	}
	return count
}

// maxUsed bounds the bindings that one report says were used.
const maxUsed = 16384

func tooManyWorkers(most int) error { return fmt.Errorf("workers: more than %d entries", most) }

// check holds a report against the contract and the limits.
func (s *Server) check(r *wirepb.SyncRequest) error {
	l := s.limits
	switch {
	case r.GetContext() == 0:
		return errors.New("context: missing; it is the context's random key and never zero")
	case r.GetSeq() == 0:
		return errors.New("seq: missing; reports are numbered from 1")
	case len(r.GetProxy()) > l.MaxStringBytes:
		return fmt.Errorf("proxy: longer than %d bytes", l.MaxStringBytes)
	case len(r.GetFilterVersion()) > l.MaxStringBytes:
		return fmt.Errorf("filter_version: longer than %d bytes", l.MaxStringBytes)
	case len(r.GetWorkers()) > l.MaxWorkersPerReport:
		return tooManyWorkers(l.MaxWorkersPerReport)
	case len(r.GetUsedBindings()) > maxUsed:
		return fmt.Errorf("used_bindings: more than %d entries", maxUsed)
	}
	if err := s.checkHistory(r.GetHistory()); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	seen := make(map[string]struct{}, len(r.GetWorkers()))
	for i, g := range r.GetWorkers() {
		if err := s.checkGauge(g); err != nil {
			return fmt.Errorf("workers[%d]: %w", i, err)
		}
		if _, twice := seen[g.GetId()]; twice {
			return fmt.Errorf("workers[%d]: id: named twice", i)
		}
		seen[g.GetId()] = struct{}{}
	}
	return nil
}

func (s *Server) checkGauge(g *wirepb.WorkerGauge) error {
	switch l := s.limits; {
	case g.GetId() == "":
		return errors.New("id: missing")
	case len(g.GetId()) > l.MaxStringBytes:
		return fmt.Errorf("id: longer than %d bytes", l.MaxStringBytes)
	case len(g.GetRecentAges()) > l.MaxAgesPerWorker:
		return fmt.Errorf("recent_ages: more than %d entries", l.MaxAgesPerWorker)
	}
	return nil
}

// fromProto turns a report into the form the board takes.
func fromProto(r *wirepb.SyncRequest) *wire.SyncRequest {
	out := &wire.SyncRequest{
		Context: r.GetContext(), Proxy: r.GetProxy(), Seq: r.GetSeq(),
		Replica: r.GetReplica(), Version: r.GetVersion(), Idle: r.GetIdle(),
		TickMillis: r.GetTickMs(), FilterVersion: r.GetFilterVersion(),
		Workers: make([]wire.WorkerGauge, len(r.GetWorkers())), History: historyOf(r.GetHistory()),
	}
	for i, g := range r.GetWorkers() {
		out.Workers[i] = wire.WorkerGauge{
			ID: core.WorkerID(g.GetId()), Generation: g.GetGeneration(), Inflight: g.GetInflight(),
			RecentAges: g.GetRecentAges(), BreakerStreak: g.GetBreakerStreak(), BreakerOpen: g.GetBreakerOpen(),
		}
		if g.AnsweredAgeMs != nil {
			out.Workers[i].AnsweredAge = core.Known(g.GetAnsweredAgeMs())
		}
		if g.FailedAgeMs != nil {
			out.Workers[i].FailedAge = core.Known(g.GetFailedAgeMs())
		}
	}
	return out
}
