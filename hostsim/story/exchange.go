package story

import (
	"fmt"
	"slices"
	"strings"
)

// exchange is one request of the story.
type exchange struct {
	Exchange
	id       string
	body     []byte // as the client sends it
	rest     []byte // of the body, not sent yet
	quiet    bool   // one of many: only the sum is printed
	ended    bool
	shown    int  // receipts printed
	heldLine bool // printed that it waits
	decided  bool // printed what became of it
}

// find gives a request by its name; a name that was used again means the newest.
func (r *run) find(a *arguments) (*exchange, error) {
	id := a.id("a request, like \"release r1\"")
	if a.err != nil {
		return nil, a.err
	}
	return r.request(id)
}

func (r *run) request(id string) (*exchange, error) {
	for _, e := range slices.Backward(r.exchanges) {
		if e.id == id {
			return e, nil
		}
	}
	return nil, fmt.Errorf("no request %s; write the name of a request step", id)
}

// engines gives the engines that a request was sent to: the pick, then spares.
func (r *run) engines(s *State) []string {
	if s.Endpoint == "" {
		return nil
	}
	names := strings.Split(s.Endpoint, ",")
	for i, address := range names {
		names[i] = r.service.name(address)
	}
	return names
}

// show prints what became of requests since it was last called.
func (r *run) show() {
	for _, e := range r.exchanges {
		if e.decided || e.quiet {
			continue
		}
		s := e.State()
		for ; e.shown < len(s.Receipts); e.shown++ {
			r.printReceipt(e.id, s.Receipts[e.shown], false)
		}
		e.decided = r.printOutcome(e, &s)
	}
}

// printOutcome prints where a request went and reports whether that is final.
func (r *run) printOutcome(e *exchange, s *State) bool {
	switch {
	case s.Answer != nil:
		r.line(e.id, "answer", s.Answer.String())
		return true
	case s.Held:
		if !e.heldLine {
			r.line(e.id, "waits", waitsFor(e))
			e.heldLine = true
		}
		return false
	case s.Endpoint != "":
		for _, added := range inserted(string(e.body), s.Body) {
			r.line(e.id, "adds", added)
		}
		to := strings.Join(r.engines(s), ", then ")
		if s.Rank != "" {
			to += ", rank " + s.Rank
		}
		r.line(e.id, "dispatch", to)
	default:
		r.line(e.id, "passes", "without an endpoint")
	}
	return true
}

// inserted are the texts that a body was given on its way, one or two, none when
// it is as it was.
func inserted(before, after string) []string {
	if len(after) <= len(before) {
		return nil
	}
	front, back := 0, 0
	for front < len(before) && before[front] == after[front] {
		front++
	}
	for back < len(before)-front && before[len(before)-1-back] == after[len(after)-1-back] {
		back++
	}
	added := after[front : len(after)-back]
	kept := before[front : len(before)-back] // stands between two texts
	if first, second, two := strings.Cut(added, kept); two && kept != "" {
		return []string{whole(first, before[:front]), second}
	}
	return []string{whole(added, before[:front])}
}

// whole undoes that what is inserted ends like what stands before it, so that it
// begins with a whole member.
func whole(added, front string) string {
	for added[0] != ',' && added[0] != '"' && front != "" && front[len(front)-1] == added[len(added)-1] {
		last := len(added) - 1
		added, front = added[last:]+added[:last], front[:len(front)-1]
	}
	return added
}

func waitsFor(e *exchange) string {
	if len(e.rest) > 0 {
		return "for the rest of its body"
	}
	return "at the filter"
}

// String gives an answer on one line.
func (a *Answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", a.Status)
	if a.Code == "" {
		return b.String() + " " + a.Body
	}
	b.WriteString(" " + a.Code)
	if message, ok := a.message(); ok {
		b.WriteString(": " + message)
	}
	if a.RetryAfter != "" {
		b.WriteString(" (retry after " + a.RetryAfter + " s)")
	}
	return b.String()
}
