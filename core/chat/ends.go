package chat

// maxEnds bounds the elements of a prompt whose ends are noted: as many boundaries
// as a path of it can have (history.MaxBoundaries).
const maxEnds = 256

// Ends notes where the elements of lists end while a body is read, so that the list
// that turns out to be the prompt is not read a second time. The zero value is
// ready, and its memory is used again by the next body. Single-threaded.
type Ends struct {
	list  []int // of the member being read, from its beginning
	kept  []int // of the prompt
	start int   // of the member
	more  bool  // there are more of them than are noted
}

// begin starts with a member that stands at an offset.
func (e *Ends) begin(start int) { e.list, e.start, e.more = e.list[:0], start, false }

// note takes the end of an element.
func (e *Ends) note(at int) {
	if len(e.list) == maxEnds {
		e.more = true
		return
	}
	e.list = append(e.list, at-e.start)
}

// keep gives the ends of the member just read, nil when there are too many of them.
// They are valid until the next body is read.
func (e *Ends) keep() []int {
	if e.more {
		return nil
	}
	if e.list == nil {
		e.list = make([]int, 0, maxEnds)
	}
	e.kept, e.list = e.list, e.kept[:0]
	return e.kept
}
