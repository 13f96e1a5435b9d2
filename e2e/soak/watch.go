package soak

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/proc"
	"github.com/pointsman/pointsman/e2e/soak/stage"
)

const mib = 1 << 20

// Row is one thing that is watched over a run.
type Row struct {
	Name      string
	Unit      string
	Allowance Allowance
	Points    []Point
}

// look reads one thing; ok is false for a thing the host does not have.
type look func(ctx context.Context, r *stage.Reading) (value float64, ok bool, err error)

// watcher samples everything that must stay flat.
type watcher struct {
	stage *stage.Stage
	rows  []*Row
	looks []look
}

func newWatcher(s *stage.Stage, host string) *watcher {
	w := &watcher{stage: s}
	// Linear memory never shrinks, and whether a collection comes before or after
	// the next large body is chance: one step of that size and its rounding is
	// allowed. What a step leaves untouched is not resident, so the row of the
	// resident memory is the finer one.
	w.add("wasm memory, all VMs", "MiB", Allowance{LargeBytes / mib * 5 / 4, 0}, func(_ context.Context, r *stage.Reading) (float64, bool, error) {
		return float64(r.Wasm) / mib, true, nil
	})
	w.add(host+" resident", "MiB", Allowance{16, 0.05}, resident(s.Host.PID()))
	w.add(host+" own heap", "MiB", Allowance{4, 0.05}, func(_ context.Context, r *stage.Reading) (float64, bool, error) {
		return optional(r.Heap, mib)
	})
	w.add(host+" goroutines", "", Allowance{8, 0.1}, func(_ context.Context, r *stage.Reading) (float64, bool, error) {
		return optional(r.Goroutines, 1)
	})
	w.add(host+" descriptors", "", Allowance{8, 0.05}, descriptors(s.Host.PID()))
	w.add("statesvc resident", "MiB", Allowance{4, 0.05}, resident(s.State.PID()))
	w.add("statesvc goroutines", "", Allowance{3, 0.05}, func(ctx context.Context, _ *stage.Reading) (float64, bool, error) {
		n, err := s.State.Goroutines(ctx)
		return float64(n), true, err
	})
	w.add("statesvc descriptors", "", Allowance{3, 0.05}, descriptors(s.State.PID()))
	return w
}

func (w *watcher) add(name, unit string, a Allowance, l look) {
	w.rows = append(w.rows, &Row{Name: name, Unit: unit, Allowance: a})
	w.looks = append(w.looks, l)
}

// sample looks at everything after so many requests.
func (w *watcher) sample(ctx context.Context, requests int) error {
	r, err := w.stage.Host.Read(ctx)
	if err != nil {
		return fmt.Errorf("read the host: %w", err)
	}
	for i, l := range w.looks {
		value, ok, err := l(ctx, &r)
		if err != nil {
			return fmt.Errorf("read %s: %w", w.rows[i].Name, err)
		}
		if ok {
			w.rows[i].Points = append(w.rows[i].Points, Point{requests, value})
		}
	}
	return nil
}

// watched are the rows that were seen.
func (w *watcher) watched() []*Row {
	var rows []*Row
	for _, r := range w.rows {
		if len(r.Points) > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// status is the last sample on one line.
func (w *watcher) status() string {
	var text strings.Builder
	for _, r := range w.watched() {
		fmt.Fprintf(&text, "; %s %.4g %s", r.Name, r.Points[len(r.Points)-1].Value, r.Unit)
	}
	return text.String()
}

func optional(value *int64, unit float64) (float64, bool, error) {
	if value == nil {
		return 0, false, nil
	}
	return float64(*value) / unit, true, nil
}

func resident(pid int) look {
	return func(context.Context, *stage.Reading) (float64, bool, error) {
		n, err := proc.Resident(pid)
		return float64(n) / mib, true, err
	}
}

func descriptors(pid int) look {
	return func(context.Context, *stage.Reading) (float64, bool, error) {
		n, err := stage.Descriptors(pid)
		return float64(n), true, err
	}
}

// poll is how often the run is looked at, progressEvery how often a line is
// written.
const (
	poll          = 50 * time.Millisecond
	progressEvery = 10 * time.Second
	samples       = 250 // over a run
)
