package kvindex

import (
	"slices"
)

// Prompt is what a request would look up. Multimodal items are not in it: a match
// ends before the first of their blocks.
type Prompt struct {
	Tokens []uint32
	Salt   string
	LoRA   string
}

// Match is how much of a prompt one owner holds, from its start and without a gap.
type Match struct {
	Owner     Owner
	BlockSize int // units of a block
	// Blocks and Tokens are on any tier, in all cache groups as far as known, and at
	// most floor((n-1)/BlockSize) blocks: the last token is always computed.
	Blocks int
	Tokens int
	// Within counts the leading blocks that are on the tier or a nearer one: device,
	// host, disk, external.
	Within [4]int
	// AtMost counts the blocks of the full-attention groups alone. It exceeds Blocks
	// where a sliding-window group lacks its part.
	AtMost int
	// Certain is false when part of what the owner's other groups hold is not known,
	// so the true hit is between Blocks and AtMost.
	Certain bool
	// Pending counts the tokens of a prefix credited to the owner and not yet expired.
	// An owner may have nothing else.
	Pending int

	owner  *owner
	groups int // full groups that held the first block
}

// Reach is the tokens confirmed or pending, whichever is more.
func (m *Match) Reach() int { return max(m.Tokens, m.Pending) }

// Result holds what a Match found and the scratch of the next one. Its zero value is
// ready; it belongs to one goroutine at a time.
type Result struct {
	// Matches has an entry per owner with something of the prompt, in no order.
	Matches []Match

	hashes []uint64
	pairs  []uint32
	walk   walk
	byslot []int32 // slot -> place in Matches + 1
	credit creditWalk
}

// Match finds what each owner holds of a prompt, in any block size and mode in use;
// an owner with several is reported by the one that gives most tokens.
func (x *Index) Match(p Prompt, r *Result) {
	r.Matches = r.Matches[:0]
	for _, s := range x.view.Load().shapes {
		r.hashes, r.pairs = x.keys.prompt(r.hashes[:0], r.pairs, s, p)
		x.matchHashes(s, r)
	}
	x.pending.match(x, p, r)
}

// matchHashes walks one chain and adds what it finds to the matches.
func (x *Index) matchHashes(s shape, r *Result) {
	if len(r.hashes) == 0 {
		return
	}
	sh := &x.shards[shardOf(r.hashes[0])]
	sh.RLock()
	defer sh.RUnlock()
	// The view is loaded under the lock: it names every holder that a node mentions.
	v := x.view.Load()
	r.walk.run(sh, v, r.hashes, x.tick())
	r.collect(v, s)
}

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

// walk is the scratch of one chain's walk.
type walk struct {
	states, next []state // by holder id
	// expect is the member of each state as last met; unused with sparse groups.
	expect []member
	done   []state // full groups whose run has ended
	spans  []span
	alive  int // full groups that still hold everything
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
	w.alive, w.sparse, w.seen = 0, false, [64]uint32{}
	var at, set uint32
	depth := 0
	for depth < len(hashes) {
		next := s.step(at, hashes[depth])
		if next == 0 {
			break
		}
		if n := s.at(next); n.set != set {
			set = n.set
			w.meet(s, v, set, int32(depth))
			if w.alive == 0 {
				break
			}
		}
		at = next
		depth++
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
	case depth > 0 && !w.sparse && !v.sparse && w.unchanged(s.sets.members(set)):
	case depth == 0 || w.sparse || !w.narrow(v, s.sets.members(set), depth):
		w.rebuild(v, s.sets.members(set), depth)
	}
	*slot = set
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
			w.end(*s, depth)
			continue
		}
		w.expect = append(w.expect, members[at])
		if lost := s.tiers &^ upTo(members[at].tiers()); lost != 0 {
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

// rebuild does the same where holders may come in or are sparse.
func (w *walk) rebuild(v *view, members []member, depth int32) {
	w.next, w.alive, w.expect = w.next[:0], 0, w.expect[:0]
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

// collect turns a walk's states into matches per owner.
func (r *Result) collect(v *view, s shape) {
	if len(r.byslot) < v.slots {
		r.byslot = make([]int32, v.slots+v.slots/4)
	}
	first := len(r.Matches)
	for i := range r.walk.done {
		r.merge(&r.walk.done[i], s, first)
	}
	for i := range r.walk.done {
		r.byslot[r.walk.done[i].holder.owner.slot] = 0
	}
	keep := first
	for i := first; i < len(r.Matches); i++ {
		m := r.Matches[i]
		r.walk.judge(&m, s)
		if m.AtMost == 0 {
			continue
		}
		r.Matches[keep] = m
		keep++
	}
	r.Matches = r.Matches[:keep]
	if first > 0 {
		r.best(first)
	}
}

// merge takes the least over the full groups of an owner.
func (r *Result) merge(st *state, s shape, first int) {
	o := st.holder.owner
	pos := r.byslot[o.slot]
	if pos == 0 {
		r.Matches = append(r.Matches, Match{Owner: o.Owner, BlockSize: int(s.size), owner: o})
		pos = int32(len(r.Matches) - first)
		r.byslot[o.slot] = pos
		m := &r.Matches[len(r.Matches)-1]
		for t := range m.Within {
			m.Within[t] = int(st.within[t])
		}
		m.groups = 1
		return
	}
	m := &r.Matches[first+int(pos)-1]
	m.groups++
	for t := range m.Within {
		m.Within[t] = min(m.Within[t], int(st.within[t]))
	}
}

// best keeps one match per owner, where an earlier shape has found some already.
func (r *Result) best(first int) {
	keep := first
	for i := first; i < len(r.Matches); i++ {
		m := r.Matches[i]
		at := slices.IndexFunc(r.Matches[:first], func(o Match) bool { return o.owner == m.owner })
		switch {
		case at < 0:
			r.Matches[keep] = m
			keep++
		case m.Tokens > r.Matches[at].Tokens:
			r.Matches[at] = m
		}
	}
	r.Matches = r.Matches[:keep]
}
