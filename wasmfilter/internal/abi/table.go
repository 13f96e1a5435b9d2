package abi

// table finds the stream of a context id: open addressing with linear probing.
// Hosts count their ids up, so the low bits of an id are its place and probes are
// short. It grows with the most streams open at one time.
type table struct {
	slots []slot // a power of two of them, at most half in use
	used  int
}

type slot struct {
	id     uint32
	stream Stream // nil when the slot is free
}

// leastSlots is the size of a table that was ever used.
const leastSlots = 64

func (t *table) home(id uint32) int { return int(id) & (len(t.slots) - 1) }

func (t *table) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

// find gives the slot of an id, false and the free slot it would take when it is
// not there.
func (t *table) find(id uint32) (int, bool) {
	i := t.home(id)
	for t.slots[i].stream != nil {
		if t.slots[i].id == id {
			return i, true
		}
		i = t.next(i)
	}
	return i, false
}

func (t *table) get(id uint32) Stream {
	if t.used == 0 {
		return nil
	}
	i, _ := t.find(id)
	return t.slots[i].stream
}

// put adds a stream, or replaces the one of the same id.
func (t *table) put(id uint32, s Stream) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	i, known := t.find(id)
	if !known {
		t.used++
	}
	t.slots[i] = slot{id: id, stream: s}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(leastSlots, 2*len(old)))
	for _, s := range old {
		if s.stream != nil {
			i, _ := t.find(s.id)
			t.slots[i] = s
		}
	}
}

// remove takes a stream out and gives it, nil when there is none. The slots after
// it that were pushed past its place move up, so that no search ends early.
func (t *table) remove(id uint32) Stream {
	if t.used == 0 {
		return nil
	}
	hole, known := t.find(id)
	if !known {
		return nil
	}
	removed := t.slots[hole].stream
	for i := t.next(hole); t.slots[i].stream != nil; i = t.next(i) {
		// An entry may move to the hole unless its home lies behind the hole.
		if distance(t.home(t.slots[i].id), i, len(t.slots)) >= distance(hole, i, len(t.slots)) {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = slot{}
	t.used--
	return removed
}

// distance is the number of steps from one slot to a later one, around the end.
func distance(from, to, size int) int { return (to - from) & (size - 1) }
