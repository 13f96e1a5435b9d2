package kv

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/pointsman/pointsman/e2e/soak"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// overshoot is what the index may hold above its budget within one event, bytes: it
// makes room after a store.
const overshoot = 1 << 20

// heapAllowance is what the process's heap may gain without being growth.
func heapAllowance() soak.Allowance { return soak.Allowance{Absolute: 8 << 20, Relative: 0.05} }

// Problems are all that is not as it must be, in words. None is a good run.
func (r *Report) Problems() (problems []string) {
	bad := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	bad(r.MostBytes > r.Budget+overshoot, "the index held %d bytes, its budget is %d", r.MostBytes, r.Budget)
	bad(r.Wrong > 0, "%d lookups promised more than the engine had", r.Wrong)
	bad(r.Undecoded > 0, "%d batches were not decoded", r.Undecoded)
	bad(r.End != kvindex.Stats{}, "without engines the index still holds %+v", r.End)
	bad(r.growth().Grew, "the heap grew")
	bad(r.Exact == 0, "no lookup was judged")
	return problems
}

func (r *Report) growth() soak.Verdict { return soak.Judge(r.Heap, r.Requests, heapAllowance()) }

// Write writes the report as Markdown.
func (r *Report) Write(w io.Writer, command string) error {
	t := &table.Table{
		Title: fmt.Sprintf("KV index: %d engines of %d blocks with churn", r.Engines, r.Blocks), Command: command,
		Columns: []string{"what", "found", "must be"},
		Notes: []string{
			fmt.Sprintf("%d requests in %.0f s, seed %d; half of the time nothing is written. Medians over rounds with first and third quartile.",
				r.Requests, r.Elapsed.Seconds(), r.Seed),
			"A lookup is of a growing chat behind a shared system prompt, hashing included. Forgotten: the budget or a missed parent made the index say less than the engine had.",
		},
	}
	ratio := r.Busy.Over(r.Quiet)
	t.Row("lookup, nothing written, us (p99)", r.Quiet.Text(1)+" ("+r.QuietP99.Text(0)+")", "")
	t.Row("lookup, events pouring in, us (p99)", r.Busy.Text(1)+" ("+r.BusyP99.Text(0)+")", "")
	t.Row("busy / quiet", ratio.Text(2), "")
	t.Row("blocks stored or removed a second", r.Ingest.Text(0), "")
	t.Row("most bytes accounted, MB", megabytes(r.MostBytes), "at most "+megabytes(r.Budget))
	t.Row("bytes per block when full", perBlock(r.Filled), "")
	t.Row("heap of the process, MB: early, late", heapText(r.growth()), "flat")
	t.Row("restarts, removals, clears", fmt.Sprint(r.Restarts, ", ", r.Removals, ", ", r.Clears), "")
	t.Row("lookups exact / forgotten / clear not yet said", fmt.Sprint(r.Exact, " / ", r.Forgotten, " / ", r.Unannounced), "")
	t.Row("lookups that promised too much", strconv.Itoa(r.Wrong), "0")
	t.Row("bytes left without engines", strconv.FormatInt(r.End.Bytes, 10), "0")
	if err := t.Write(w); err != nil {
		return err
	}
	verdict := "good"
	if problems := r.Problems(); len(problems) > 0 {
		verdict = fmt.Sprintf("bad: %q", problems)
	}
	_, err := fmt.Fprintf(w, "\n**KV index: %s**\n\n", verdict)
	return err
}

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) }

func perBlock(s kvindex.Stats) string {
	if s.Entries == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(s.Bytes)/float64(s.Entries), 'f', 0, 64)
}

func heapText(v soak.Verdict) string {
	if math.IsNaN(v.Second) || math.IsNaN(v.Last) {
		return "-"
	}
	return megabytes(int64(v.Second)) + ", " + megabytes(int64(v.Last))
}
