package receipt

import (
	"strconv"

	"github.com/pointsman/pointsman/core"
)

// detail is what the full form adds to a summary. It is kept where receipts are
// written out, and costs allocations.
type detail struct {
	verdicts []verdict
	loads    [MaxCandidates]*core.LoadReport // of the candidates kept, nil without a fresh report
}

// verdict is why one engine was not to be had in one bucket's turn.
type verdict struct {
	turn   int
	worker core.WorkerID
	why    string
}

// Full makes the summary keep the full form from here on.
func (s *Summary) Full() { s.detail = &detail{} }

// IsFull reports whether the summary keeps the full form.
func (s *Summary) IsFull() bool { return s.detail != nil }

// NotHad notes why an engine was not to be had in the turn that is noted next, in
// the full form only. MaxCandidates are kept of a turn, later ones are dropped.
func (s *Summary) NotHad(worker core.WorkerID, why string) {
	if s.detail == nil || s.tried >= MaxTries || s.detail.count(s.tried) == MaxCandidates {
		return
	}
	s.detail.verdicts = append(s.detail.verdicts, verdict{s.tried, worker, why})
}

// Loaded notes the fresh report of the candidate that was noted last, in the full
// form only. It is copied.
func (s *Summary) Loaded(report core.LoadReport) {
	if s.detail != nil && s.listed > 0 && s.listed == s.considered {
		s.detail.loads[s.listed-1] = &report
	}
}

func (d *detail) count(turn int) (n int) {
	for _, v := range d.verdicts {
		if v.turn == turn {
			n++
		}
	}
	return n
}

// appendVerdicts writes the engines that a turn could not have.
func (s *Summary) appendVerdicts(b []byte, turn int) []byte {
	if s.detail == nil {
		return b
	}
	separator := " ("
	for _, v := range s.detail.verdicts {
		if v.turn != turn {
			continue
		}
		b = append(b, separator...)
		b = append(b, v.worker...)
		b = append(b, ' ')
		b = append(b, v.why...)
		separator = ", "
	}
	if separator == ", " {
		b = append(b, ')')
	}
	return b
}

// appendLoad writes how far a candidate's report can be trusted and what it says.
func (s *Summary) appendLoad(b []byte, candidate int) []byte {
	if s.detail == nil || !s.candidates[candidate].ReportAge.Known {
		return b
	}
	report := s.detail.loads[candidate]
	switch {
	case report == nil:
		return append(b, " (stale)"...)
	case report.Native():
		b = append(b, " (native)"...)
	default:
		b = append(b, " (basic)"...)
	}
	for _, f := range [...]struct {
		name  string
		value core.Count
	}{
		{" running ", report.Running},
		{" waiting ", report.Waiting},
		{" uncached ", report.WaitingUncached},
		{" kv-used ", report.KVUsed},
		{" kv-total ", report.KVTotal},
		{" kv-capacity ", report.KVCapacity},
	} {
		if f.value.Known {
			b = append(b, f.name...)
			b = strconv.AppendUint(b, f.value.N, 10)
		}
	}
	return b
}
