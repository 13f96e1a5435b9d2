package kvindex

import "slices"

// member is a holder and the tiers on which it has a block: id<<4 | tier bits.
type member uint32

const tierBits = 4

func memberOf(holder uint32, tiers uint8) member { return member(holder)<<tierBits | member(tiers) }

func (m member) holder() uint32 { return uint32(m) >> tierBits }
func (m member) tiers() uint8   { return uint8(m) & (1<<tierBits - 1) }

// holders is one set of members, sorted by holder, shared by every node of a shard
// that has exactly these.
type holders struct {
	members []member
	planes  planes // nil for a small or sparse set
	count   int    // of planes
	key     uint64 // its key in the table
	refs    uint32
}

// setTable keeps each set of holders once. The blocks of a prompt mostly have the
// same holders, so a walk sees runs of one number, and a node pays 4 bytes for any
// count of owners. Set 0 is the empty set.
type setTable struct {
	sets  []holders
	byKey map[uint64]uint32
	free  []uint32
	live  int
	words int // members over all sets
	bits  int // words of planes over all sets
	memo  [2]transition
}

// transition remembers the last change, which the next block mostly repeats.
type transition struct {
	ok           bool
	from, holder uint32
	add, drop    uint8
	to           uint32
	old          uint8
}

// change answers with the set that differs from one in the tiers of one holder, and
// with what the holder had. A set that nobody else uses may be changed in place.
func (t *setTable) change(from, holder uint32, add, drop uint8) (to uint32, old uint8) {
	m := &t.memo[0]
	if add == 0 {
		m = &t.memo[1]
	}
	if m.ok && m.from == from && m.holder == holder && m.add == add && m.drop == drop {
		return m.to, m.old
	}
	pos, old := t.position(from, holder)
	tiers := (old | add) &^ drop
	if tiers == old {
		return from, old
	}
	to = t.derive(from, pos, memberOf(holder, old), memberOf(holder, tiers))
	if to != from {
		*m = transition{ok: true, from: from, holder: holder, add: add, drop: drop, to: to, old: old}
	}
	return to, old
}

func (t *setTable) members(set uint32) []member {
	if set == 0 {
		return nil
	}
	return t.sets[set].members
}

func (t *setTable) position(set, holder uint32) (int, uint8) {
	list := t.members(set)
	pos, _ := slices.BinarySearch(list, memberOf(holder, 0))
	if pos < len(list) && list[pos].holder() == holder {
		return pos, list[pos].tiers()
	}
	return pos, 0
}

// derive finds or makes the set with one member replaced at a position. A member
// without tiers is no member.
func (t *setTable) derive(from uint32, pos int, old, now member) uint32 {
	list := t.members(from)
	var key uint64
	if from != 0 {
		key = sumOf(list)
	}
	key += weight(now) - weight(old)
	if now.tiers() == 0 && len(list) == 1 {
		return 0
	}
	for {
		id, ok := t.byKey[key]
		if !ok {
			break
		}
		if equalExcept(t.sets[id].members, list, pos, old, now) {
			return id
		}
		key++
	}
	if from != 0 && t.sets[from].refs == 1 {
		t.rewrite(from, key, pos, old, now)
		return from
	}
	return t.make(key, splice(slices.Clone(list), pos, old, now))
}

func (t *setTable) rewrite(id uint32, key uint64, pos int, old, now member) {
	t.unmemo(id)
	s := &t.sets[id]
	delete(t.byKey, s.key)
	t.words -= len(s.members)
	t.bits -= cap(s.planes)
	s.members = splice(s.members, pos, old, now)
	s.planes, s.count = planesOf(s.members, s.planes)
	t.words += len(s.members)
	t.bits += cap(s.planes)
	s.key = key
	t.byKey[key] = id
}

func (t *setTable) make(key uint64, members []member) uint32 {
	if len(t.sets) == 0 {
		t.sets = make([]holders, 1)
		t.byKey = map[uint64]uint32{}
	}
	id := uint32(len(t.sets))
	set := holders{members: members, key: key}
	set.planes, set.count = planesOf(members, nil)
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
		t.sets[id] = set
	} else {
		t.sets = append(t.sets, set)
	}
	t.byKey[key] = id
	t.live++
	t.words += len(members)
	t.bits += cap(set.planes)
	return id
}

// swap moves one reference between sets.
func (t *setTable) swap(from, to uint32) {
	if from == to {
		return
	}
	if to != 0 {
		t.sets[to].refs++
	}
	if from == 0 {
		return
	}
	if t.sets[from].refs--; t.sets[from].refs == 0 {
		t.unmemo(from)
		delete(t.byKey, t.sets[from].key)
		t.live--
		t.words -= len(t.sets[from].members)
		t.bits -= cap(t.sets[from].planes)
		t.sets[from] = holders{}
		t.free = append(t.free, from)
	}
}

// unmemo forgets transitions of a set whose number will mean another.
func (t *setTable) unmemo(id uint32) {
	for i := range t.memo {
		if t.memo[i].from == id || t.memo[i].to == id {
			t.memo[i].ok = false
		}
	}
}

// weight makes sums of members a key of the set that a change updates in one step.
func weight(m member) uint64 {
	if m.tiers() == 0 {
		return 0
	}
	return scatter(uint64(m) + 0x9E3779B97F4A7C15)
}

func sumOf(list []member) uint64 {
	var sum uint64
	for _, m := range list {
		sum += weight(m)
	}
	return sum
}

func splice(list []member, pos int, old, now member) []member {
	switch {
	case old.tiers() == 0:
		return slices.Insert(list, pos, now)
	case now.tiers() == 0:
		return slices.Delete(list, pos, pos+1)
	default:
		list[pos] = now
		return list
	}
}

// equalExcept reports whether a set is the list with one member replaced.
func equalExcept(set, list []member, pos int, old, now member) bool {
	rest := pos
	if old.tiers() != 0 {
		rest++
	}
	if !slices.Equal(set[:min(pos, len(set))], list[:pos]) || len(set) < pos {
		return false
	}
	set = set[pos:]
	if now.tiers() != 0 {
		if len(set) == 0 || set[0] != now {
			return false
		}
		set = set[1:]
	}
	return slices.Equal(set, list[rest:])
}
