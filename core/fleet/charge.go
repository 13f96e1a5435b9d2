package fleet

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
)

// Charge is one request's hold on one worker: an in-flight unit and a claim on
// the worker's breaker. The zero value holds nothing. A Charge must not be
// copied while it holds something: the fleet links it into the worker's list.
type Charge struct {
	row        *row
	id         core.WorkerID
	ticket     breaker.Ticket
	probe      bool   // it is the one probe of a half-open breaker
	succeeded  bool   // the answer began well; whether it ended well is open
	settled    bool   // the breaker has its outcome
	rank       uint32 // data-parallel rank and one, 0 when none is known
	at         core.Instant
	next, prev *Charge // newest first
}

// End is how a request ended, as its host saw it.
type End uint8

// The ends.
const (
	EndComplete End = iota // the whole answer was sent
	EndCut                 // the engine broke off, or never answered
	EndGone                // the client left, or we answered ourselves
)

// Held reports whether the charge holds a worker.
func (c *Charge) Held() bool { return c.row != nil }

// Worker gives the ID of the held worker, empty when nothing is held.
func (c *Charge) Worker() core.WorkerID { return c.id }

// Charge takes one in-flight unit of the worker and claims its breaker. It
// fails, with nothing taken, when the door closed since the pick or the worker
// left the fleet (invariant I3).
func (f *Fleet) Charge(c *Charge, w *core.Worker, now core.Instant) bool {
	r := f.at(w)
	if r == nil || c.row != nil {
		return false
	}
	probe := r.breaker.State(now) != breaker.Closed
	ticket, ok := r.breaker.Claim(now)
	if !ok {
		return false
	}
	r.hold(c, now)
	c.ticket, c.probe = ticket, probe
	return true
}

// hold links a charge into the engine's list.
func (r *row) hold(c *Charge, now core.Instant) {
	*c = Charge{row: r, id: r.worker.ID, at: now, next: r.open}
	if r.open != nil {
		r.open.prev = c
	}
	r.open = c
	r.own++
	if c.at >= r.reportAt {
		r.since++
	}
}

// Move gives a held charge to the engine that the host's transport retry used;
// the engine that held it did not answer. The request is there already, so a
// breaker that refuses it is not asked twice. False means that the new engine is
// nil or not a member and that nothing is held.
func (f *Fleet) Move(c *Charge, to *core.Worker, now core.Instant) bool {
	rank := c.rank
	f.Unanswered(c, now)
	f.Release(c, EndCut, now)
	if to == nil || f.at(to) == nil {
		return false
	}
	if !f.Charge(c, to, now) {
		f.at(to).hold(c, now)
		c.settled = true
	}
	if rank != 0 { // the host sends it on with the same headers
		f.ChargeRank(c, uint64(rank-1))
	}
	return true
}

// Fault counts a failure of an engine that was tried for a request and never
// held its charge.
func (f *Fleet) Fault(w *core.Worker, now core.Instant) {
	var c Charge
	if f.Charge(&c, w, now) {
		f.Unanswered(&c, now)
		f.Release(&c, EndCut, now)
	}
}

// Answered notes how the engine's answer began. A failure counts at once, a good
// beginning when the answer ends (field report B05).
func (f *Fleet) Answered(c *Charge, outcome breaker.Outcome, now core.Instant) {
	if c.row == nil || c.settled {
		return
	}
	c.row.answered, c.row.answeredAt = true, now
	if outcome != breaker.Success {
		f.settle(c, outcome, now)
		return
	}
	c.succeeded = true
	if c.probe {
		c.passProbe(now)
	}
}

// passProbe ends a probe whose answer began well, so that the engine is not
// refused for the length of a stream. The failure streak stays until the answer
// ends: one that breaks off trips the breaker again at once.
func (c *Charge) passProbe(now core.Instant) {
	c.probe = false
	b := &c.row.breaker
	b.Report(c.ticket, breaker.Neutral, now)
	if b.State(now) == breaker.Closed {
		c.ticket, _ = b.Claim(now)
	}
}

// Unanswered notes that the host could not get an answer from the engine:
// connect failure, reset or time-out before the answer began.
func (f *Fleet) Unanswered(c *Charge, now core.Instant) {
	if c.row != nil && !c.settled {
		f.settle(c, breaker.Failure, now)
	}
}

func (f *Fleet) settle(c *Charge, outcome breaker.Outcome, now core.Instant) {
	c.settled = true
	if outcome == breaker.Failure {
		f.ajar = true // it may have opened the breaker; no other outcome can
		c.row.failed, c.row.failedAt = true, now
	}
	c.row.breaker.Report(c.ticket, outcome, now)
}

// Release gives the unit back. It is safe to call more than once and on a zero
// Charge (invariant I6). A client that leaves is never counted against the
// engine (engine-selection.md 13.1).
func (f *Fleet) Release(c *Charge, end End, now core.Instant) {
	r := c.row
	if r == nil {
		return
	}
	if !c.settled {
		f.settle(c, outcomeOf(end, c.succeeded), now)
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		r.open = c.next
	}
	c.releaseRank()
	r.own--
	if c.at >= r.reportAt {
		r.since--
	}
	if r.own == 0 && f.departed[c.id] == r {
		delete(f.departed, c.id)
	}
	*c = Charge{}
}

func outcomeOf(end End, succeeded bool) breaker.Outcome {
	switch {
	case end == EndComplete && succeeded:
		return breaker.Success
	case end == EndCut:
		return breaker.Failure
	}
	return breaker.Cancelled
}
