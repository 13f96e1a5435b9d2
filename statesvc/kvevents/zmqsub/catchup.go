package zmqsub

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// Pauses between replays: after one that ended well, and after those that did not. A
// replay of everything is repeated more rarely, since it makes the index forget.
const (
	goodPause     = 100 * time.Millisecond
	firstBadPause = 500 * time.Millisecond
	lastBadPause  = 30 * time.Second
	firstRebuild  = 2 * time.Second
	lastRebuild   = 5 * time.Minute
)

// pace says when what may be asked for.
type pace struct {
	next time.Time // no replay before
	bad  time.Duration

	rebuildAt time.Time // no replay of everything before
	rebuild   time.Duration
	truncated bool // the engine no longer has number 0

	holeAt int64 // the last number before which a replay left batches out
}

// hole reports whether a replay leaves batches out before seq, for the first time there:
// a socket at its high-water mark does that, and gives them when it is asked again. One
// that was to begin with the last batch leaves that out when it begins later.
func (p *pace) hole(c *cursor, seq int64, begins bool) bool {
	if !c.known || seq <= c.last || c.missing(seq) == 0 && !begins || p.holeAt == c.last+1 {
		return false
	}
	p.holeAt = c.last + 1
	return true
}

func (p *pace) after(err error) {
	now := time.Now()
	if err == nil {
		p.next, p.bad = now.Add(goodPause), 0
		return
	}
	p.bad = min(max(2*p.bad, firstBadPause), lastBadPause)
	p.next = now.Add(p.bad)
}

// begin notes a replay of everything.
func (p *pace) begin() {
	if time.Since(p.rebuildAt) > lastRebuild {
		p.rebuild = 0
	}
	p.rebuild = min(max(2*p.rebuild, firstRebuild), lastRebuild)
	p.rebuildAt = time.Now().Add(p.rebuild)
}

// whole notes that nothing is missing from before.
func (p *pace) whole() { p.truncated, p.rebuild, p.rebuildAt = false, 0, time.Time{} }

// mayReplay reports whether the engine can be asked for batches soon.
func (f *follower) mayReplay() bool {
	return f.s.o.Replay != "" && f.pace.bad == 0
}

// due is when something is to be asked for, false when nothing ever is.
func (f *follower) due() (time.Time, bool) {
	switch {
	case f.fence.closed(time.Now()):
		return f.fence.until, true
	case f.s.o.Replay == "" || !f.connected:
		return time.Time{}, false
	}
	d := f.s.doubts()
	at := f.heard.Add(f.s.o.Limits.Check)
	if f.verified != f.link || d.has(ReasonBehind) {
		at = f.pace.next
	}
	if f.wantsRebuild(d) && f.pace.rebuildAt.Before(at) {
		at = f.pace.rebuildAt
	}
	if at.Before(f.pace.next) {
		at = f.pace.next
	}
	return at, true
}

func (f *follower) wantsRebuild(d doubts) bool { return d&lost != 0 && !f.pace.truncated }

func (s *Stream) doubts() doubts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

// tend asks for what is due.
func (f *follower) tend(ctx context.Context) {
	f.unfence()
	f.heard = time.Now()
	if f.s.o.Replay == "" || !f.connected {
		return
	}
	if f.wantsRebuild(f.s.doubts()) && !time.Now().Before(f.pace.rebuildAt) {
		f.rebuildAll(ctx)
		return
	}
	f.verify(ctx)
}

// replay asks for batches, after the pause that is due. take says when it has enough. An
// engine that leaves batches out is asked again from there before they count as lost.
func (f *follower) replay(ctx context.Context, from int64, take func(m *engine.Message, oversized bool) bool) error {
	if wait := time.Until(f.pace.next); wait > 0 && !pause(ctx, wait) {
		return ctx.Err()
	}
	l := &f.s.o.Limits
	limits := replayLimits{idle: l.ReplayTimeout, total: l.ReplayTotal, bytes: l.MaxMessageBytes, waiting: l.QueueBytes}
	before, hole, begins := f.cursor.last, false, f.cursor.known && from == f.cursor.last
	err := replay(ctx, f.s.o.Replay, from, limits, func(m *engine.Message, oversized bool) bool {
		f.heard = time.Now()
		hole = f.pace.hole(&f.cursor, m.Seq, begins)
		begins = false
		return ctx.Err() == nil && !hole && take(m, oversized)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if hole {
		err = errHole
	}
	f.heard = time.Now()
	f.noteReplay(err, err != nil && !hole && f.cursor.last <= before)
	return err
}

// noteReplay tells the status, and waits for longer after a replay that was of no use.
func (f *follower) noteReplay(err error, useless bool) {
	if useless {
		f.pace.after(err)
	} else {
		f.pace.after(nil)
	}
	f.s.change(func(d *doubts, st *Status) {
		if err == nil {
			st.Counts.ReplaysGood++
			d.drop(ReasonBehind)
			return
		}
		if useless {
			st.Counts.ReplaysBad++
		}
		st.Error = err.Error()
		d.add(ReasonBehind)
	})
}

// maxParts bounds how often a replay that breaks off is taken up again at once.
const maxParts = 64

// verify asks for the last batch and what follows it, in parts if need be. Another
// process than the one that was followed makes the stream begin anew.
func (f *follower) verify(ctx context.Context) {
	if !f.cursor.known {
		f.all(ctx)
		return
	}
	for range maxParts {
		if f.verifyPart(ctx) || f.pace.bad > 0 || ctx.Err() != nil || !f.cursor.known {
			return
		}
	}
}

// verifyPart reports whether the end was reached.
func (f *follower) verifyPart(ctx context.Context) bool {
	first, other := true, false
	err := f.replay(ctx, f.cursor.last, func(m *engine.Message, oversized bool) bool {
		if first {
			first = false
			if f.cursor.delivered(m.Seq, m.Payload) {
				return true
			}
			if other = m.Seq <= f.cursor.last; other {
				return false
			}
			// The engine no longer has it: nothing says that this follows it.
			f.s.change(func(d *doubts, _ *Status) { d.add(ReasonGap) })
		}
		f.deliver(m, oversized)
		return true
	})
	switch {
	case err != nil:
		return false
	case first || other: // it does not know the batch, or another one by its number
		f.suspect = suspect{link: f.link, since: time.Now()}
		if f.restart(); !f.fence.closed(time.Now()) {
			f.all(ctx)
		}
	default:
		f.caughtUp()
	}
	return true
}

// suspect is a connection that may be one to a process that ended: a replay was answered
// by another one. What it brings is not looked at, until it has lasted for so long that
// it must be alive, or there is a new one. Replays bring the same meanwhile.
type suspect struct {
	link  uint64 // 0 for none
	since time.Time
}

const suspectSpan = 500 * time.Millisecond

// ends lets go of the suspicion when it is time, and reports whether the connection is
// free of it.
func (s *suspect) ends(link uint64, now time.Time) bool {
	if s.link == link && now.Sub(s.since) < suspectSpan {
		return false
	}
	*s = suspect{}
	return true
}

// caughtUp notes that everything up to now was delivered.
func (f *follower) caughtUp() {
	if f.suspect.ends(f.link, time.Now()) {
		f.verified = f.link
	}
	f.s.change(func(d *doubts, st *Status) {
		*d &^= unsure
		st.Error = ""
	})
}

// all asks for everything from number 0, when nothing was delivered yet. An engine that
// is known to have published nothing keeps its trust unless it answers with a batch, or
// not at all: the question alone is no doubt.
func (f *follower) all(ctx context.Context) {
	f.pace.begin()
	first := true
	err := f.replay(ctx, 0, func(m *engine.Message, oversized bool) bool {
		if first {
			first = false
			f.s.change(func(d *doubts, _ *Status) { d.add(ReasonBehind) })
		}
		return f.take(m, oversized)
	})
	switch {
	case err == nil:
		f.noteStart()
		f.caughtUp()
	case f.cursor.known && f.pace.bad == 0:
		f.verify(ctx)
	}
}

// take delivers one batch of a replay that is not there yet.
func (f *follower) take(m *engine.Message, oversized bool) bool {
	if !f.cursor.known || m.Seq > f.cursor.last {
		if !f.cursor.known {
			f.pace.truncated = m.Seq > 0
		}
		f.deliver(m, oversized)
	}
	return true
}

// noteStart takes an engine that has published nothing for one with an empty cache.
func (f *follower) noteStart() {
	if !f.cursor.known {
		f.pace.whole()
		f.s.change(func(d *doubts, _ *Status) { *d &^= incomplete })
	}
}

// rebuildAll asks for everything again, to get what was lost. The sink is reset only
// when the engine still has number 0.
func (f *follower) rebuildAll(ctx context.Context) {
	f.pace.begin()
	first := true
	err := f.replay(ctx, 0, func(m *engine.Message, oversized bool) bool {
		if first {
			first = false
			if f.pace.truncated = m.Seq != 0; f.pace.truncated {
				return false
			}
			f.reset()
			f.s.change(func(d *doubts, _ *Status) { d.add(ReasonBehind) })
		}
		return f.take(m, oversized)
	})
	switch {
	case f.pace.truncated || first:
	case err == nil:
		f.caughtUp()
	case f.cursor.known && f.pace.bad == 0:
		f.verify(ctx)
	}
}
