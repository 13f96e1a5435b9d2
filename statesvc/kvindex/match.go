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
	// Shared is the tokens of the prompt, from its start, after which prompts go on in
	// three or more ways: a system prompt and no conversation.
	Shared int

	hashes []uint64
	pairs  []uint32
	walk   walk
	byslot []int32 // slot -> place in Matches + 1
	credit creditWalk
}

// Match finds what each owner holds of a prompt, in any block size and mode in use;
// an owner with several is reported by the one that gives most tokens.
func (x *Index) Match(p Prompt, r *Result) {
	r.Matches, r.Shared = r.Matches[:0], 0
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
	r.Shared = max(r.Shared, r.walk.shared*int(s.size))
	r.collect(v, s)
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
