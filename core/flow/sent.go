package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
)

// sentTokens is how many tokens engines were lately sent to compute, by requests that
// this context placed by what an index knows. Between engines that are idle, or equally
// busy, it says which one has had less to do (history.Table does the same by bytes).
// The zero value is empty. Single-threaded.
type sentTokens struct {
	rows    []sentRow // by core.Worker.Slot
	counted int       // requests since the counts were halved
}

type sentRow struct {
	worker *core.Worker
	tokens uint64 // of older ones fewer
}

// sentHalfLife is after how many requests for each engine what they were sent before
// counts half.
const sentHalfLife = 64

// count notes that an engine is sent so many tokens that it does not hold. A new life
// of an engine, which holds nothing any more, begins at zero.
func (s *sentTokens) count(w *core.Worker, tokens uint64) {
	if w.Slot < 0 {
		return
	}
	for len(s.rows) <= w.Slot {
		s.rows = append(s.rows, sentRow{})
	}
	row := &s.rows[w.Slot]
	if row.worker != w && (row.worker == nil || !sameLife(row.worker, w)) {
		row.tokens = 0
	}
	row.worker = w
	row.tokens += tokens
	if s.counted++; s.counted < sentHalfLife*len(s.rows) {
		return
	}
	s.counted = 0
	for i := range s.rows {
		s.rows[i].tokens /= 2
	}
}

// of gives what an engine was sent, as a figure to compare engines by.
func (s *sentTokens) of(w *core.Worker) uint64 {
	if w.Slot < 0 || w.Slot >= len(s.rows) {
		return 0
	}
	if row := &s.rows[w.Slot]; row.worker == w || row.worker != nil && sameLife(row.worker, w) {
		return row.tokens
	}
	return 0
}

// sameLife reports whether two descriptions are of one life of an engine. An unknown
// generation is no evidence of another life.
func sameLife(a, b *core.Worker) bool {
	return a.ID == b.ID && (a.Generation == b.Generation || a.Generation == 0 || b.Generation == 0)
}

// countSent notes what the chosen engine has to compute, where an index was asked what
// it holds; all of the prompt where that could not say.
func (r *Request) countSent(pick *core.Pick) {
	if pick.Cache == core.CacheNone || r.source == policy.SourceHistory {
		return
	}
	r.ctx.sent.count(pick.Worker, r.bucket.Input-min(r.bucket.Input, pick.Matched.N))
}
