package zmqsub

import "time"

// Processes that begin anew within restartSpan of each other, more than maxRestarts in a
// row, fence the stream until its numbers have not run backwards for fenceSpan.
const (
	restartSpan = 10 * time.Second
	maxRestarts = 4
	fenceSpan   = 30 * time.Second
)

// fence keeps out a stream whose numbers run backwards again and again.
type fence struct {
	last   time.Time // the last restart
	streak int
	until  time.Time // zero while open
}

// note counts a restart and reports whether the fence is closed by it.
func (f *fence) note(now time.Time) bool {
	if now.Sub(f.last) < restartSpan {
		f.streak++
	} else {
		f.streak = 0
	}
	f.last = now
	if f.streak > maxRestarts {
		f.until = now.Add(fenceSpan)
	}
	return !f.until.IsZero()
}

func (f *fence) closed(now time.Time) bool { return now.Before(f.until) }
func (f *fence) extend(now time.Time)      { f.until = now.Add(fenceSpan) }

// open lets go of a fence whose time is over, and reports whether there was one.
func (f *fence) open() bool {
	if f.until.IsZero() {
		return false
	}
	*f = fence{}
	return true
}
