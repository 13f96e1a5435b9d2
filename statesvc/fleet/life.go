package fleet

import (
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
)

// life tells one life of an engine from the next and numbers them (design
// section 4). The number is the start time of the engine's process in
// milliseconds when its metrics tell it, so that it survives a restart of the
// state service. Else it is a counter from 1. Where a source tells the incarnation of
// what runs at the address, the UID of a pod, that is part of the number: another pod is
// another life, whatever its metrics say, and a process that begins anew in the same pod
// is one too.
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

	incarnation string // empty while no source tells
	reborn      bool   // it changed since the last begin
}

// embody notes what a source says of the incarnation. A source that tells nothing, or
// begins to tell, is no evidence of another life.
func (l *life) embody(incarnation string) {
	switch incarnation {
	case "", l.incarnation:
		return
	}
	l.reborn = l.incarnation != "" && l.generation != 0
	l.incarnation = incarnation
}

// refused notes that nothing listens where the engine was.
func (l *life) refused() { l.gone = l.generation != 0 }

// begin is called when a probe turns good, with the first reading if there is
// one in time. It reports whether a former life ended.
func (l *life) begin(s *enginemetrics.Sample) (restarted bool) {
	gone, reborn := l.gone, l.reborn
	l.gone, l.reborn = false, false
	switch {
	case reborn:
		l.generation = 0 // numbers of another incarnation are no predecessors
		l.enter(s)
		return true
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
	former := l.generation
	l.start, l.counters = core.Count{}, nil
	if s != nil {
		l.start, l.counters = s.StartMillis, s.Counters
	}
	started := l.start.Known && l.start.N > 0
	switch {
	case started && l.incarnation == "":
		l.generation = l.start.N
	case l.incarnation == "":
		l.generation = former + 1
	case started:
		l.generation = number(l.incarnation + "/" + strconv.FormatUint(l.start.N, 10))
	case former == 0:
		l.generation = number(l.incarnation)
	default:
		l.generation = former + 1
	}
}

// number makes a generation of a text, never zero.
func number(text string) uint64 { return max(xxhash.Sum64String(text), 1) }
