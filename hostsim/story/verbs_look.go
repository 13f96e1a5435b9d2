package story

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/core"
)

// playExplain prints everything the receipt of a request holds.
func (r *run) playExplain(a *arguments, _ string) error {
	e, err := r.find(a)
	if err != nil {
		return err
	}
	if err := a.done(); err != nil {
		return err
	}
	r.show()
	s := e.State()
	if len(s.Receipts) == 0 {
		return fmt.Errorf("no decision was taken on %s", e.id)
	}
	for _, line := range s.Receipts {
		r.printObserved(e.id, line)
	}
	return nil
}

// playExpect checks how many requests came to what since the config step.
func (r *run) playExpect(a *arguments, _ string) error {
	got := map[string]uint64{}
	for _, e := range r.exchanges {
		s := e.State()
		got[r.sum(&s)]++
		if s.Endpoint != "" {
			got["routed"]++
		}
		if s.Answer != nil {
			got["answered"]++
		}
	}
	for i, arg := range a.args {
		if len(arg.Values) != 1 {
			return fmt.Errorf("%s has no number; write like \"expect A=3 B=2..4 policy_selection_failed=1\"", arg.Name)
		}
		a.used[i] = true
		low, high, err := span(arg.Values[0])
		if err != nil {
			return err
		}
		if n := got[arg.Name]; n < low || n > high {
			return fmt.Errorf("%s is %d, not %s", arg.Name, n, arg.Values[0])
		}
	}
	r.printf("ok\n")
	return nil
}

// span reads a number or a range like 2..4.
func span(text string) (low, high uint64, err error) {
	first, last, isRange := strings.Cut(text, "..")
	if !isRange {
		last = first
	}
	if low, err = strconv.ParseUint(first, 10, 64); err == nil {
		high, err = strconv.ParseUint(last, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s is neither a number nor a range; write 3 or 2..4", text)
	}
	return low, high, nil
}

// playLoad prints what the state service knows of each engine, the filter's own
// requests included.
func (r *run) playLoad(a *arguments, _ string) error {
	if err := a.done(); err != nil {
		return err
	}
	if err := r.sync(); err != nil {
		return err
	}
	for _, e := range r.service.engines {
		r.printf("%s in flight %d%s\n", e.ID, e.gauge.inflight, e.conditions(r.clock.Now()))
	}
	return nil
}

// conditions is everything else worth knowing of an engine.
func (e *engine) conditions(now time.Time) string {
	var b strings.Builder
	if e.others > 0 {
		fmt.Fprintf(&b, ", %d from other proxies", e.others)
	}
	if !e.Healthy {
		b.WriteString(", down")
	}
	if e.Draining {
		b.WriteString(", draining")
	}
	switch {
	case e.gauge.open:
		b.WriteString(", breaker open")
	case e.gauge.streak > 0:
		b.WriteString(", failures " + strconv.FormatUint(e.gauge.streak, 10))
	}
	if e.reported {
		fmt.Fprintf(&b, ", report %v old:%s", now.Sub(e.loadAt), describeLoad(&e.load))
	}
	return b.String()
}

func describeLoad(r *core.LoadReport) string {
	var b strings.Builder
	for _, f := range []struct {
		name  string
		value core.Count
	}{
		{"running", r.Running},
		{"waiting", r.Waiting},
		{"uncached", r.WaitingUncached},
		{"kv_used", r.KVUsed},
		{"kv_total", r.KVTotal},
		{"kv_capacity", r.KVCapacity},
		{"running_capacity", r.RunningCapacity},
	} {
		if f.value.Known {
			fmt.Fprintf(&b, " %s %d", f.name, f.value.N)
		}
	}
	return b.String()
}

// playMetrics prints the filter's metrics, or those whose names have one of the
// words in them. The context ticks first, since metrics are published then.
func (r *run) playMetrics(a *arguments, _ string) error {
	words := a.words()
	if err := a.done(); err != nil {
		return err
	}
	r.filter.Tick()
	for _, c := range r.filter.Counters() {
		if mentions(c.Name, words) {
			r.printf("%s %d\n", strings.Replace(c.Name, "_total_", "_total ", 1), c.Value)
		}
	}
	return nil
}

func mentions(name string, words []string) bool {
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return len(words) == 0
}

// playLog prints what the filter logged since the last log step, receipts apart.
func (r *run) playLog(a *arguments, _ string) error {
	if err := a.done(); err != nil {
		return err
	}
	lines := r.filter.TakeLog()
	for _, line := range lines {
		r.printf("%s\n", line)
	}
	if len(lines) == 0 {
		r.printf("nothing\n")
	}
	return nil
}
