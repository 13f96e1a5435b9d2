package soak

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/table"
)

// Report is what a run found.
type Report struct {
	Options    Options
	Host       string
	Elapsed    time.Duration
	Tally      *Tally
	Rows       []*Row
	Settled    *Settled
	Faults     []Fault // the first of the host's log
	FaultCount int
}

// check is one statement about the end of a run.
type check struct {
	name, want, found string
	good              bool
}

// Problems are all that is not as it must be, in words. None is a good run.
func (r *Report) Problems() []string {
	var problems []string
	if n := r.Tally.Otherwise(); n > 0 {
		problems = append(problems, fmt.Sprintf("%d requests did not end as asked", n))
	}
	for _, row := range r.Rows {
		if Judge(row.Points, r.Options.Requests, row.Allowance).Grew {
			problems = append(problems, row.Name+" grew")
		}
	}
	for _, c := range r.checks() {
		if !c.good {
			problems = append(problems, fmt.Sprintf("%s: %s, must be %s", c.name, c.found, c.want))
		}
	}
	return problems
}

// checks compare the filter's and the engines' own counts with what was asked
// for.
func (r *Report) checks() []check {
	asked, s := r.Options.Asked(), r.Settled
	var least, most int64
	for k, n := range asked {
		from, to := Kind(k).routed()
		least, most = least+int64(from*n), most+int64(to*n)
	}
	replaced := int64(asked[LostOnce])
	if r.Options.NoResend {
		replaced = 0
	}
	attempts := s.routed() + replaced
	return []check{
		exact("in flight at the state service", s.Inflight, 0),
		exact("in flight at the engines", s.Engines.Open, 0),
		ranged("routed by the filter", s.routed(), least, most),
		exact("charges released by the filter", s.released(), s.routed()),
		exact("picks replaced after a reset", s.Reading.Counters[replacedCounter], replaced),
		ranged("attempts that reached the engines", s.Engines.Received, attempts-int64(asked[AbortWaiting]), attempts),
		exact("requests the engines lost before an answer", s.Engines.Lost, int64(asked[LostOnce])),
		exact("answered bad_request by the filter", s.Reading.Counters[badCounter], int64(asked[NotJSON])),
		exact("answered model_not_found by the filter", s.Reading.Counters[noModelCounter], int64(asked[NoModel])),
		exact("VMs that failed and were replaced", s.Reading.Reloads, 0),
		exact("fault lines in the host's log", int64(r.FaultCount), 0),
	}
}

func exact(name string, found, want int64) check {
	return check{name, strconv.FormatInt(want, 10), strconv.FormatInt(found, 10), found == want}
}

// ranged allows for requests whose clients leave: some go too early to count.
func ranged(name string, found, least, most int64) check {
	return check{name, fmt.Sprintf("%d to %d", least, most), strconv.FormatInt(found, 10), found >= least && found <= most}
}

// Write writes the report as Markdown.
func (r *Report) Write(w io.Writer, command string) error {
	if err := r.outcomes(command).Write(w); err != nil {
		return err
	}
	if err := r.growth(command).Write(w); err != nil {
		return err
	}
	if err := r.end(command).Write(w); err != nil {
		return err
	}
	var b strings.Builder
	r.writeFaults(&b)
	for _, example := range r.Tally.examples {
		fmt.Fprintf(&b, "- not as asked: %s\n", example)
	}
	verdict := "good"
	if problems := r.Problems(); len(problems) > 0 {
		verdict = "bad: " + strings.Join(problems, "; ")
	}
	fmt.Fprintf(&b, "\n**%s: %s**\n\n", r.Host, verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) outcomes(command string) *table.Table {
	o := r.Options
	t := &table.Table{
		Title: r.Host + ": outcomes", Command: command, Columns: []string{"request", "outcome asked for", "asked", "as asked", "otherwise"},
		Notes: []string{fmt.Sprintf("%d requests in %s (%.0f/s), %d at a time, seed %d, %d worker threads.", o.Requests, r.Elapsed.Round(time.Second),
			float64(o.Requests)/r.Elapsed.Seconds(), o.Clients, o.Seed, o.Stage.Threads)},
	}
	for k, n := range o.Asked() {
		t.Row(Kind(k).String(), o.Want(Kind(k)), strconv.Itoa(n), strconv.Itoa(r.Tally.asAsked[k]), otherwise(r.Tally.otherwise[k]))
	}
	return t
}

func otherwise(outcomes map[string]int) string {
	if len(outcomes) == 0 {
		return "0"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[name], name))
	}
	return strings.Join(parts, ", ")
}

func (r *Report) growth(command string) *table.Table {
	t := &table.Table{
		Title: r.Host + ": growth", Command: command,
		Columns: []string{"what", "after warm-up", "2nd fifth", "last fifth", "end", "largest", "growth per 100k requests", "allowed in all", "verdict"},
		Notes: []string{
			"Medians: of the second tenth of the run, of its second fifth and of its last fifth. It grows when the last fifth is above the second, by its median and by its smallest value, by more than the allowance and by more than four times the median deviation within the second fifth.",
		},
	}
	for _, row := range r.Rows {
		v := Judge(row.Points, r.Options.Requests, row.Allowance)
		t.Row(strings.TrimSuffix(row.Name+", "+row.Unit, ", "), number(v.Warm), number(v.Second), number(v.Last), number(v.End), number(v.Max),
			signed(v), number(max(row.Allowance.Absolute, row.Allowance.Relative*v.Second)), v.word())
	}
	return t
}

func (v Verdict) word() string {
	switch {
	case !v.Judged:
		return "too short to judge"
	case v.Grew:
		return "GROWING"
	}
	return "flat"
}

func number(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func signed(v Verdict) string {
	if !v.Judged {
		return "-"
	}
	return fmt.Sprintf("%+.2f", v.Per100k)
}

func (r *Report) end(command string) *table.Table {
	t := &table.Table{Title: r.Host + ": the end", Command: command, Columns: []string{"what", "must be", "found", "verdict"}}
	for _, c := range r.checks() {
		verdict := "good"
		if !c.good {
			verdict = "BAD"
		}
		t.Row(c.name, c.want, c.found, verdict)
	}
	return t
}

func (r *Report) writeFaults(b *strings.Builder) {
	if len(r.Faults) == 0 {
		return
	}
	fmt.Fprintf(b, "Fault lines of the log, the first after about %d requests:\n\n```\n", r.Faults[0].Requests)
	for _, f := range r.Faults {
		fmt.Fprintf(b, "%d: %s\n", f.Requests, f.Line)
	}
	b.WriteString("```\n\n")
}
