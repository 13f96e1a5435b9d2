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
	reads    int
}

func (l *Loads) row(w *core.Worker) *loadRow {
	for len(l.rows) <= w.Slot {
		l.rows = append(l.rows, loadRow{})
	}
	return &l.rows[w.Slot]
}

// SetReport makes r the fresh report of w; nil is none.
func (l *Loads) SetReport(w *core.Worker, r *core.LoadReport) { l.row(w).report = r }

// SetInflight makes n the requests in flight at w.
func (l *Loads) SetInflight(w *core.Worker, n uint64) { l.row(w).inflight = n }

// Charge counts one more request in flight at w.
func (l *Loads) Charge(w *core.Worker) { l.row(w).inflight++ }

// Release ends one request in flight at w; there must be one.
func (l *Loads) Release(w *core.Worker) { l.row(w).inflight-- }

// Report gives the report that was set, whatever the instant.
func (l *Loads) Report(w *core.Worker, _ core.Instant) (*core.LoadReport, bool) {
	row := l.row(w)
	row.reads++
	return row.report, row.report != nil
}

// Inflight gives the requests in flight at w.
func (l *Loads) Inflight(w *core.Worker) uint64 { return l.row(w).inflight }

// Reads is how often the report of w was asked for.
func (l *Loads) Reads(w *core.Worker) int { return l.row(w).reads }
