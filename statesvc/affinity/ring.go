package affinity

// ring is the doubly linked order of a Memory's entries by last use. The entry of
// slot 0 is its anchor: next is the newest, prev the oldest.
type ring struct{ of *Memory }

func (r ring) push(at slot) {
	entries := r.of.entries
	first := entries[0].next
	entries[at].prev, entries[at].next = 0, first
	entries[first].prev = at
	entries[0].next = at
}

func (r ring) cut(at slot) {
	entries := r.of.entries
	e := entries[at]
	entries[e.prev].next = e.next
	entries[e.next].prev = e.prev
}

// last is the oldest entry. The ring must not be empty.
func (r ring) last() slot { return r.of.entries[0].prev }
