package coretest

import "github.com/pointsman/pointsman/core"

// Loads is a load view by hand. The zero value knows no report and no request
// in flight. Workers are told apart by slot.
type Loads struct {
	rows []loadRow
}

type loadRow struct {
	report   *core.LoadReport
	inflight uint64
	since    uint64
	reads    int
}

func (l *Loads) row(w *core.Worker) *loadRow {
	for len(l.rows) <= w.Slot {
		l.rows = append(l.rows, loadRow{})
	}
	return &l.rows[w.Slot]
}

// SetReport makes r the fresh report of w, taken after all that was charged so
// far; nil is none.
func (l *Loads) SetReport(w *core.Worker, r *core.LoadReport) { l.row(w).report, l.row(w).since = r, 0 }

// SetInflight makes n the requests in flight at w.
func (l *Loads) SetInflight(w *core.Worker, n uint64) { l.row(w).inflight = n }

// Charge counts one more request in flight at w, sent after its report.
func (l *Loads) Charge(w *core.Worker) {
	row := l.row(w)
	row.inflight++
	row.since++
}

// Release ends the oldest request in flight at w; there must be one.
func (l *Loads) Release(w *core.Worker) {
	row := l.row(w)
	row.inflight--
	row.since = min(row.since, row.inflight)
}

// Report gives the report that was set, whatever the instant.
func (l *Loads) Report(w *core.Worker, _ core.Instant) (*core.LoadReport, bool) {
	row := l.row(w)
	row.reads++
	return row.report, row.report != nil
}

// Inflight gives the requests in flight at w.
func (l *Loads) Inflight(w *core.Worker) uint64 { return l.row(w).inflight }

// SinceReport gives what was charged to w since its report was set, and is still
// in flight.
func (l *Loads) SinceReport(w *core.Worker) uint64 { return l.row(w).since }

// Reads is how often the report of w was asked for.
func (l *Loads) Reads(w *core.Worker) int { return l.row(w).reads }
