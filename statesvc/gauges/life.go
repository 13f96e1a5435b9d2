package gauges

import "github.com/pointsman/pointsman/core"

// Life is one generation of one worker as the contexts report it. A new
// generation is a new Life, so what was said of a former life can never change
// the present one, and a total cannot fall below zero (field reports A41, A50,
// A51).
type Life struct {
	Worker     core.WorkerID
	Generation uint64

	inflight   uint64
	open       int // contexts whose breaker refuses the worker
	answered   bool
	answeredAt core.Instant
}

// Inflight is the requests in flight over all live contexts.
func (l *Life) Inflight() uint64 { return l.inflight }

// OpenBreakers counts the live contexts whose breaker refuses the worker.
func (l *Life) OpenBreakers() int { return l.open }

// AnsweredWithin reports whether a request to the worker began to be answered
// during the last span milliseconds, as far as any context said.
func (l *Life) AnsweredWithin(now, span core.Instant) bool {
	return l.answered && now-l.answeredAt < span
}

func (l *Life) noteAnswer(at core.Instant) {
	if !l.answered || at > l.answeredAt {
		l.answered, l.answeredAt = true, at
	}
}

// entry is what one context contributes to one life.
type entry struct {
	inflight uint32
	open     bool
	seq      uint64 // of the report that confirmed it
}

func (e entry) empty() bool { return e.inflight == 0 && !e.open }
