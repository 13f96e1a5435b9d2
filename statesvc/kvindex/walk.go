package kvindex

import "slices"

// state is what a walk knows of one holder.
type state struct {
	holder *holder
	id     uint32
	tiers  uint8 // tiers up to which it holds everything so far, as bits; full groups
	within [tierCount]int32
	// from is where the current run of a sparse group began; -1 outside one.
	from int32
}

// span is a finished run of blocks of a sparse group.
type span struct {
	holder   *holder
	from, to int32
}

// sharedFrom is how many continuations make a block one that many prompts share
// (design section 5b).
const sharedFrom = 3

// walk is the scratch of one chain's walk.
type walk struct {
	states, next []state // by holder id
	// expect is the member of each state as last met; unused with sparse groups.
	expect []member
	// needs is the states as planes; it is made when a set with planes is met.
	needs  needs
	needed bool
	done   []state // full groups whose run has ended
	spans  []span
	alive  int // full groups that still hold everything
	shared int // blocks up to the last one that many prompts go on from
	// sparse tells that some state or span is a sparse group's.
	sparse bool
	// seen are sets that were met, at their number's low bits. What still holds
	// everything is in each of them, so meeting one again changes nothing, as long as
	// only full groups take part.
	seen [64]uint32
}

// run follows the hashes for as long as some full group holds every block. Blocks
// with the same set of holders as the one before cost one comparison.
func (w *walk) run(s *shard, v *view, hashes []uint64, tick uint32) {
	w.states, w.done, w.spans = w.states[:0], w.done[:0], w.spans[:0]
	w.alive, w.shared, w.sparse, w.seen = 0, 0, false, [64]uint32{}
	var at, set uint32
	depth := 0
	for depth < len(hashes) {
		next := s.step(at, hashes[depth])
		if next == 0 {
			break
		}
		n := s.at(next)
		if n.set != set {
			set = n.set
			w.meet(s, v, set, int32(depth))
			if w.alive == 0 {
				break
			}
		}
		at = next
		if depth++; n.children >= sharedFrom {
			w.shared = depth
		}
	}
	if at != 0 {
		s.at(at).touch(tick)
	}
	w.rebuild(v, nil, int32(depth))
}

// meet goes on to a set of holders at a depth.
func (w *walk) meet(s *shard, v *view, set uint32, depth int32) {
	slot := &w.seen[set%uint32(len(w.seen))]
	switch {
	case *slot == set && set != 0 && !w.sparse:
	case depth > 0 && !w.sparse && !v.sparse && w.keeps(&s.sets, set):
	case depth == 0 || w.sparse || !w.narrow(v, s.sets.members(set), depth):
		w.rebuild(v, s.sets.members(set), depth)
	}
	*slot = set
}

// keeps reports whether all states hold what they held in a set too. It may say no where
// that only looks otherwise.
func (w *walk) keeps(t *setTable, set uint32) bool {
	if set == 0 || t.sets[set].planes == nil {
		return w.unchanged(t.members(set))
	}
	if !w.needed {
		w.needs.fill(w.states)
		w.needed = true
	}
	return w.needs.in(t.sets[set].planes, t.sets[set].count)
}

// step finds the child of a node by its hash. Blocks that were stored together mostly
// lie side by side.
func (s *shard) step(at uint32, hash uint64) uint32 {
	if next := at + 1; at != 0 && next <= s.top {
		if n := s.at(next); n.hash == hash && n.parent == at {
			return next
		}
	}
	if next := s.find(hash); next != 0 && s.at(next).parent == at {
		return next
	}
	return 0
}

// upTo spreads tier bits to all farther tiers: what is on the device is also within
// the host's reach.
func upTo(tiers uint8) uint8 {
	tiers |= tiers << 1
	tiers |= tiers << 2
	return tiers & allTiers
}

// unchanged reports whether all states are in the members as they were.
func (w *walk) unchanged(members []member) bool {
	at := 0
	for _, e := range w.expect {
		for at < len(members) && members[at] < e {
			at++
		}
		if at == len(members) || members[at] != e {
			return false
		}
		at++
	}
	return true
}

// narrow keeps the states that are in the members too. It reports false, having done
// nothing lasting, when a sparse group is among the members. Both lists are sorted.
func (w *walk) narrow(v *view, members []member, depth int32) bool {
	if v.sparse && slices.ContainsFunc(members, v.isSparse) {
		return false
	}
	keep, at := 0, 0
	w.expect = w.expect[:0]
	for i := range w.states {
		s := &w.states[i]
		for at < len(members) && members[at].holder() < s.id {
			at++
		}
		if at == len(members) || members[at].holder() != s.id {
			w.lose(s.id, allTiers)
			w.end(*s, depth)
			continue
		}
		w.expect = append(w.expect, members[at])
		if lost := s.tiers &^ upTo(members[at].tiers()); lost != 0 {
			w.lose(s.id, lost)
			s.settle(lost, depth)
			s.tiers &^= lost
		}
		if keep != i {
			w.states[keep] = *s
		}
		keep++
	}
	w.states, w.alive = w.states[:keep], keep
	return true
}

// lose keeps the planes in step with the states.
func (w *walk) lose(holder uint32, tiers uint8) {
	if w.needed {
		w.needs.drop(holder, tiers)
	}
}

// rebuild does the same where holders may come in or are sparse.
func (w *walk) rebuild(v *view, members []member, depth int32) {
	w.next, w.alive, w.expect, w.needed = w.next[:0], 0, w.expect[:0], false
	old := w.states
	for _, m := range members {
		id := m.holder()
		for len(old) > 0 && old[0].id < id {
			w.end(old[0], depth)
			old = old[1:]
		}
		if len(old) > 0 && old[0].id == id {
			w.carry(old[0], upTo(m.tiers()), depth)
			old = old[1:]
			continue
		}
		w.begin(v, m, depth)
	}
	for _, s := range old {
		w.end(s, depth)
	}
	w.states, w.next = w.next, w.states
}

// begin takes in a holder. A full group must hold the first block; a sparse one may
// come in later.
func (w *walk) begin(v *view, m member, depth int32) {
	id := m.holder()
	if int(id) >= len(v.holders) || v.holders[id] == nil {
		return
	}
	h := v.holders[id]
	switch {
	case h.full() && depth == 0:
		w.alive++
	case h.sparse.Load():
		w.sparse = true
	default:
		return
	}
	w.expect = append(w.expect, m)
	w.next = append(w.next, state{holder: h, id: id, tiers: upTo(m.tiers()), from: depth})
}

// carry goes on with a holder that has the next block too.
func (w *walk) carry(s state, tiers uint8, depth int32) {
	if lost := s.tiers &^ tiers; lost != 0 {
		s.settle(lost, depth)
		s.tiers &= tiers
	}
	if !s.holder.sparse.Load() {
		w.alive++
	}
	w.next = append(w.next, s)
}

// end closes a holder's run.
func (w *walk) end(s state, depth int32) {
	if s.holder.sparse.Load() {
		w.spans = append(w.spans, span{holder: s.holder, from: s.from, to: depth})
		return
	}
	s.settle(s.tiers, depth)
	w.done = append(w.done, s)
}

// settle records the depth at which tiers ceased to hold everything.
func (s *state) settle(tiers uint8, depth int32) {
	for t := range s.within {
		if tiers&(1<<t) != 0 {
			s.within[t] = depth
		}
	}
}
