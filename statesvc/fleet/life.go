package fleet

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
)

// life tells one life of an engine from the next and numbers them (design
// section 4). The number is the start time of the engine's process in
// milliseconds when its metrics tell it, so that it survives a restart of the
// state service. Else it is a counter from 1.
//
// A number is chosen when a life begins and kept until there is evidence that it
// ended: another start time, counters that run backwards, or a connection that
// was refused, which only a process that is gone explains. Time-outs and error
// statuses are no evidence.
type life struct {
	generation uint64 // 0 before the first life
	start      core.Count
	counters   map[string]float64
	gone       bool // nothing listened since the last begin
}

// refused notes that nothing listens where the engine was.
func (l *life) refused() { l.gone = l.generation != 0 }

// begin is called when a probe turns good, with the first reading if there is
// one in time. It reports whether a former life ended.
func (l *life) begin(s *enginemetrics.Sample) (restarted bool) {
	gone := l.gone
	l.gone = false
	switch {
	case l.generation == 0:
		l.enter(s)
		return false
	case s != nil && l.start.Known && s.StartMillis.Known:
		return l.observe(s) // the start time knows better than a refused connection
	case gone:
		l.enter(s)
		return true
	case s != nil:
		return l.observe(s)
	}
	return false
}

// observe takes over a later reading. It reports whether the life it came from
// is a new one.
func (l *life) observe(s *enginemetrics.Sample) (restarted bool) {
	if l.ended(s) {
		l.enter(s)
		return true
	}
	if s.StartMillis.Known {
		l.start = s.StartMillis
	}
	l.counters = s.Counters
	return false
}

func (l *life) ended(s *enginemetrics.Sample) bool {
	if s.StartMillis.Known && l.start.Known {
		return s.StartMillis != l.start
	}
	for name, before := range l.counters {
		if v, ok := s.Counters[name]; ok && v < before {
			return true
		}
	}
	return false
}

// enter numbers the life that begins. Without a start time it is the number
// after the last one, which no earlier life of this engine had.
func (l *life) enter(s *enginemetrics.Sample) {
	next := l.generation + 1
	l.start, l.counters = core.Count{}, nil
	if s != nil {
		l.start, l.counters = s.StartMillis, s.Counters
		if l.start.Known && l.start.N > 0 {
			next = l.start.N
		}
	}
	l.generation = next
}
