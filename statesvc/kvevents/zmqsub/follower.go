package zmqsub

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// follower applies the rules of numbers to what the queue holds. Everything in it
// belongs to one goroutine.
type follower struct {
	s      *Stream
	cursor cursor

	connected bool
	link      uint64 // the connection messages come from
	linkLast  int64  // its last number
	verified  uint64 // the connection whose process is known to be the cursor's
	suspect   suspect
	heard     time.Time
	fence     fence
	pace      pace
	// ahead are restarts that were noticed here and that nobody told yet.
	ahead int
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		if due, ok := f.due(); ok && !time.Now().Before(due) {
			f.tend(ctx)
			continue
		}
		if it, ok := f.s.queue.take(); ok {
			f.handle(ctx, &it)
			continue
		}
		wait := time.Hour
		if due, ok := f.due(); ok {
			wait = max(time.Until(due), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-f.s.queue.ready:
		case <-timer.C:
		}
	}
}

func (f *follower) handle(ctx context.Context, it *item) {
	switch it.kind {
	case itemUp:
		f.up(ctx, it.link)
	case itemDown:
		f.connected = false
		f.s.change(func(d *doubts, st *Status) {
			st.Connected, st.Error = false, it.err.Error()
			d.add(ReasonDisconnected)
		})
	case itemRenewed:
		f.renewed()
	case itemMessage:
		f.heard = time.Now()
		f.live(ctx, it)
	}
}

// up begins with a new connection, maybe to a new process.
func (f *follower) up(ctx context.Context, link uint64) {
	f.connected, f.link, f.linkLast, f.heard = true, link, -1, time.Now()
	f.s.change(func(d *doubts, st *Status) {
		st.Connected, st.Error = true, ""
		st.Counts.Connects++
		d.drop(ReasonConnecting)
		if !f.cursor.known {
			d.add(ReasonNoFeed)
			d.drop(ReasonDisconnected)
		}
	})
	if f.mayReplay() && !f.fence.closed(time.Now()) {
		f.verify(ctx)
	}
}

// live takes one message of the SUB socket.
func (f *follower) live(ctx context.Context, it *item) {
	seq := it.msg.Seq
	backwards := seq <= f.linkLast
	rising := f.verified == it.link && !backwards
	f.linkLast = seq
	if it.link == f.suspect.link || f.unproven(it.link) {
		f.s.count(func(c *Counts) { c.Fenced++ })
		return
	}
	if f.fence.closed(f.heard) {
		if backwards {
			f.fence.extend(f.heard)
		}
		f.s.count(func(c *Counts) { c.Fenced++ })
		return
	}
	f.unfence()
	if seq == engine.EndOfReplay {
		f.restart()
		return
	}
	switch f.cursor.judge(seq, it.msg.Payload, rising) {
	case verdictDuplicate:
		f.s.count(func(c *Counts) { c.Duplicates++ })
		return
	case verdictRestart:
		if f.restart(); f.fence.closed(f.heard) {
			return
		}
		f.begin(ctx, it)
	case verdictFirst:
		f.begin(ctx, it)
	case verdictGap:
		f.mend(ctx, it)
	case verdictNext:
		f.deliver(&it.msg, it.oversized)
		f.sure()
	}
}

// begin delivers the first batch of a process, after what it published before.
func (f *follower) begin(ctx context.Context, it *item) {
	if it.msg.Seq > 0 && f.mayReplay() {
		f.all(ctx)
	}
	f.settle(it)
	f.verified = it.link // what was delivered is of it
}

// maxUnproven is the pause between replays from which on they are not waited for.
const maxUnproven = 4 * time.Second

// unproven reports whether a connection may be to another process than what was
// delivered, and a replay will soon tell. While replays fail for longer, its batches are
// taken, and nothing says that they follow.
func (f *follower) unproven(link uint64) bool {
	if f.s.o.Replay == "" || !f.cursor.known || f.verified == link {
		return false
	}
	if f.pace.bad < maxUnproven {
		return true
	}
	f.verified = link
	f.s.change(func(d *doubts, _ *Status) { d.add(ReasonGap) })
	return false
}

// settle delivers a batch if a replay has not done so.
func (f *follower) settle(it *item) {
	if f.cursor.known && it.msg.Seq <= f.cursor.last {
		f.s.count(func(c *Counts) { c.Duplicates++ })
		return
	}
	f.deliver(&it.msg, it.oversized)
	f.s.change(func(d *doubts, _ *Status) { *d &^= unsure })
}

// mend asks for the batches of a gap before it delivers the one after it. While replays
// fail, the gap stays. The process that answers may be a later one than the batch is of,
// which waited in the queue: then it is void.
func (f *follower) mend(ctx context.Context, it *item) {
	from := f.cursor.last
	f.s.count(func(c *Counts) { c.Gaps++ })
	if f.mayReplay() {
		f.verify(ctx)
		if it.link == f.suspect.link {
			return
		}
		f.s.count(func(c *Counts) { c.Repaired += uint64(max(min(f.cursor.last, it.msg.Seq-1)-from, 0)) })
	}
	f.settle(it)
}

// sure notes that nothing is missing.
func (f *follower) sure() {
	if f.s.unsure() {
		f.s.change(func(d *doubts, _ *Status) { *d &^= unsure })
	}
}

func (s *Stream) unsure() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present&unsure != 0
}

// deliver gives a batch to the sink and moves on, over a gap if there is one.
func (f *follower) deliver(m *engine.Message, oversized bool) {
	missing := f.cursor.missing(m.Seq)
	first := !f.cursor.known
	f.cursor.move(m.Seq, m.Payload)
	outcome := Outcome{Doubt: ReasonTooLarge}
	if !oversized {
		outcome = f.s.o.Sink.Batch(m.Payload)
	}
	if missing == 0 && !first && outcome == (Outcome{}) {
		f.s.delivered(m.Seq)
		return
	}
	if outcome.Cleared {
		f.pace.whole()
	}
	f.s.change(func(d *doubts, st *Status) {
		st.Counts.Batches++
		st.Last = m.Seq
		switch {
		case missing > 0:
			st.Counts.Missing += missing
			d.add(ReasonGap)
		case first && m.Seq > 0:
			d.add(ReasonLateJoin)
		case first:
			*d &^= incomplete
		}
		d.drop(ReasonNoFeed)
		if outcome.Cleared {
			*d &^= incomplete
		}
		if outcome.Doubt != ReasonNone {
			d.add(outcome.Doubt)
		}
	})
}

// delivered notes a batch that changed nothing else.
func (s *Stream) delivered(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Counts.Batches++
	s.status.Last = seq
}

// restart begins anew: what was delivered is of a process that ended.
func (f *follower) restart() {
	f.ahead++
	f.reset()
	f.pace.whole()
	backwards := f.fence.note(time.Now())
	f.s.change(func(d *doubts, st *Status) {
		st.Counts.Restarts++
		*d &^= incomplete
		d.add(ReasonNoFeed)
		if backwards {
			d.add(ReasonBackwards)
		}
	})
}

// renewed takes over that a process ended. Several that ended between two tellings are
// one.
func (f *follower) renewed() {
	if f.ahead == 0 && f.cursor.known {
		f.restart()
		f.verified = 0
	}
	f.ahead = 0
}

// reset makes sink and cursor know nothing.
func (f *follower) reset() {
	f.cursor.forget()
	f.s.o.Sink.Reset()
	f.s.change(func(_ *doubts, st *Status) { st.Last = -1 })
}

// unfence takes a stream back that has been quiet.
func (f *follower) unfence() {
	if f.fence.open() {
		f.s.change(func(d *doubts, _ *Status) { d.drop(ReasonBackwards) })
	}
}
