package history

import (
	"github.com/pointsman/pointsman/core"
)

// DefaultEntries is how many entries a table holds unless told otherwise: 128 MB
// of prompts at a few dozen bytes for each Chunk of them and engine.
const DefaultEntries = 1 << 17

// BytesPerToken turns an engine's capacity in tokens into bytes of prompts. An
// entry that is kept too long costs one wrong guess; one that goes too early
// costs a conversation its cache (design section 5b).
const BytesPerToken = 4

// maxHolders bounds the engines remembered for one boundary. More of them would
// make a lookup longer and no better: a prompt that so many hold is shared.
const maxHolders = 16

// Table is which engine was sent which prompt.
type Table struct {
	limit   int
	ordinal uint32 // of the last entry made
	epoch   uint32 // of the last lookup
	counted int    // dispatches since sent counts were halved
	hand    int    // where the last victim was found
	nodes   nodes
	holders holders
	rows    []row     // by core.Worker.Slot
	reached []reached // likewise

	// Of the last lookup.
	found   []*core.Worker
	depths  []uint64 // of found, as last asked for
	path    *Path
	matched int    // boundaries that some engine holds
	least   uint64 // bytes that an engine must hold to be in found
}

// New makes a table of at most so many entries, one for each boundary and engine;
// 0 is DefaultEntries. Fewer than a few prompts' worth are as many as that.
func New(entries int) *Table {
	const least = 4 * MaxBoundaries
	if entries == 0 {
		entries = DefaultEntries
	}
	limit := max(entries, least)
	return &Table{limit: limit, nodes: nodes{limit: limit}, holders: holders{limit: limit}, found: []*core.Worker{}}
}

// Entries counts the entries in use, Bytes what the table's memory takes.
func (t *Table) Entries() int { return t.holders.used }

// Bytes is how much memory the table takes once it is full; what was never used of
// it the system need not have.
func (t *Table) Bytes() int { return t.nodes.bytes() + t.holders.bytes() + len(t.rows)*rowBytes }

// Mark names one dispatch to Leave. The zero value names none.
type Mark struct{ ordinal uint32 }

// Enter notes that an engine is sent a prompt. capacity is the number of tokens
// that it can cache, unknown for an engine that does not say so: nothing is
// forgotten on its account then. fresh is the first boundary that the engine was
// not known to hold, p.Len() when it held all.
func (t *Table) Enter(w *core.Worker, p *Path, capacity core.Count) (mark Mark, fresh int) {
	s := p.steps(0, p.Len())
	s.ending = ending(t.ordinal + 1)
	mark, fresh = t.enter(w, s, capacity)
	if mark.ordinal != 0 {
		t.count(w.Slot, s.sizes[fresh:])
	}
	return mark, fresh
}

// ending is the way on of a prompt that ends here. No two endings are known to be
// of the same conversation, so a prompt that is sent again and again is shared too.
func ending(ordinal uint32) uint32 { return ordinal * 0x9e3779b1 }

// Learn notes that an engine was sent a prompt that ended at a boundary of this
// one. It is what another context knows.
func (t *Table) Learn(w *core.Worker, p *Path, at int) {
	t.enter(w, p.steps(0, at+1), core.Count{})
}

func (t *Table) enter(w *core.Worker, s steps, capacity core.Count) (mark Mark, fresh int) {
	n := len(s.hashes)
	r, ok := t.row(w)
	if !ok || n == 0 {
		return Mark{}, n
	}
	t.rows[r].capacity.set(capacity)
	t.begin()
	fresh = n
	// From the end on, so that an engine's oldest entry is always the end of some
	// prompt: caches give up leaves first.
	for at := n - 1; at >= 0; at-- {
		if t.holders.used >= t.limit {
			t.makeRoom()
		}
		node := t.nodes.have(node{hash: s.hashes[at], parent: s.before(at), size: s.sizes[at]})
		t.nodes.list[node].follow(s.way(at))
		if t.hold(node, r, at == n-1) {
			fresh = at
		}
	}
	t.refresh(r, &s)
	t.fit(r)
	return Mark{t.ordinal}, fresh
}

// refresh marks what comes before the first of some boundaries as used by an
// engine, and that it goes on that way.
func (t *Table) refresh(r uint16, s *steps) {
	way := uint32(s.hashes[0])
	for parent, left := s.parent, MaxBoundaries; parent != 0 && left > 0; left-- {
		node := t.nodes.find(parent)
		if node == 0 {
			return
		}
		if way != 0 {
			t.nodes.list[node].follow(way)
			way = 0
		}
		if h := t.holderOf(node, r); h != 0 {
			t.unlink(h)
			t.link(h)
		}
		parent = t.nodes.list[node].parent
	}
}

// begin numbers the next entries. Zero stays free for marks of nothing.
func (t *Table) begin() {
	if t.ordinal++; t.ordinal == 0 {
		t.ordinal = 1
	}
}

// halfLife is after how many dispatches for each engine what they were sent before
// counts half.
const halfLife = 64

// count notes what an engine was sent that it did not hold.
func (t *Table) count(r int, sizes []uint16) {
	for _, size := range sizes {
		t.rows[r].sent += uint64(size)
	}
	if t.counted++; t.counted < halfLife*len(t.rows) {
		return
	}
	t.counted = 0
	for i := range t.rows {
		t.rows[i].sent /= 2
	}
}

// Sent is how many bytes were entered lately for an engine that did not hold them.
// Of what is older a part is counted, so it compares engines and measures none.
// What others sent is not in it: they see to their own balance, and late news would
// make all of them favour the same engine.
func (t *Table) Sent(w *core.Worker) uint64 {
	if w.Slot < 0 || w.Slot >= len(t.rows) {
		return 0
	}
	if r := &t.rows[w.Slot]; r.worker == w || r.is(w) {
		return r.sent
	}
	return 0
}

// Leave takes back what a dispatch entered: the engine refused it. What others
// have used since stays.
func (t *Table) Leave(w *core.Worker, p *Path, m Mark) {
	if m.ordinal == 0 || w.Slot < 0 || w.Slot >= len(t.rows) || !t.rows[w.Slot].is(w) {
		return
	}
	for at := p.Len() - 1; at >= 0; at-- {
		node := t.nodes.find(p.hashes[at])
		if node == 0 {
			continue
		}
		h := t.holderOf(node, uint16(w.Slot))
		if h != 0 && t.holders.list[h].born == m.ordinal && t.holders.list[h].stamp == m.ordinal {
			t.drop(h)
		}
	}
}

// forget drops a row's entries that no dispatch after one has used.
func (t *Table) forget(r uint16, ordinal uint32) {
	age := t.ordinal - ordinal
	for h := t.rows[r].oldest; h != 0 && t.ordinal-t.holders.list[h].stamp >= age; h = t.rows[r].oldest {
		t.drop(h)
	}
}

// Match is what a table knows of a prompt. Depth has the engines.
type Match struct {
	Found  bool   // some engine holds some of it
	Bytes  uint64 // of the prompt
	Shared uint64 // bytes of it up to the last shared boundary
	// Deepest is the most bytes of it that any engine holds; of less than asked for,
	// not more than that.
	Deepest uint64
}

// Lookup finds which engines hold how much of a prompt, if it is at least so many
// bytes: many hold the first of it, and to look at all of these costs the most. An
// engine that holds a boundary holds all before it. The path must stay as it is until
// the next lookup.
func (t *Table) Lookup(p *Path, least uint64) Match {
	if t.epoch++; t.epoch == 0 {
		t.epoch = 1
		for i := range t.reached {
			t.reached[i].epoch = 0
		}
	}
	t.found, t.path, t.matched, t.least = t.found[:0], p, 0, least
	m := Match{Bytes: p.total}
	s := p.steps(0, p.Len())
	s.ending = ending(t.ordinal + 1)
	for at, hash := range p.hashes {
		node := t.nodes.find(hash)
		if node == 0 {
			break
		}
		n := &t.nodes.list[node]
		if m.Found = true; n.shared(s.way(at)) {
			m.Shared = uint64(p.ends[at])
		}
		t.matched++
		if here, answered := p.reach(at); uint64(answered) >= least {
			m.Deepest = max(m.Deepest, uint64(t.reach(n, here, answered)))
		} else {
			m.Deepest = max(m.Deepest, uint64(here))
		}
	}
	return m
}

// reach notes who holds a boundary, and gives the most bytes that one of them
// holds.
func (t *Table) reach(n *node, here, answered uint32) (deepest uint32) {
	list, rows, epoch := t.holders.list, t.reached, t.epoch
	for h := n.first; h != 0; {
		e := &list[h]
		end := here
		if e.tip {
			end = answered
		}
		r := &rows[e.row]
		if r.epoch != epoch {
			r.epoch, r.depth = epoch, 0
			t.found = append(t.found, r.worker)
		}
		r.depth = max(r.depth, end)
		deepest = max(deepest, end)
		h = e.sibling
	}
	return deepest
}

// Holders are the engines that hold as much of the prompt last looked up, as they were
// when something was last entered for them. Valid until the next lookup.
func (t *Table) Holders() []*core.Worker { return t.found }

// Depths is how many bytes of it each of Holders holds, or fewer where that is less
// than was asked for. Valid until the next lookup.
func (t *Table) Depths() []uint64 {
	t.depths = t.depths[:0]
	for _, w := range t.found {
		t.depths = append(t.depths, uint64(t.reached[w.Slot].depth))
	}
	return t.depths
}

// Depth is how many bytes of the prompt last looked up an engine holds.
func (t *Table) Depth(w *core.Worker) uint64 {
	if w.Slot < 0 || w.Slot >= len(t.reached) {
		return 0
	}
	r, depth := &t.reached[w.Slot], uint64(0)
	if r.epoch == t.epoch {
		depth = uint64(r.depth)
	}
	switch {
	case depth == 0 && t.least == 0, r.worker != w && !t.rows[w.Slot].is(w):
		return 0
	case depth < t.least:
		return max(depth, t.little(uint16(w.Slot)))
	}
	return depth
}

// little is how many bytes of the prompt last looked up an engine holds that holds
// less than was asked for.
func (t *Table) little(r uint16) (depth uint64) {
	for at, hash := range t.path.hashes[:min(t.matched, t.path.Len())] {
		here, answered := t.path.reach(at)
		if uint64(answered) >= t.least {
			continue
		}
		h := t.holderOf(t.nodes.find(hash), r)
		switch {
		case h == 0:
		case t.holders.list[h].tip:
			depth = max(depth, uint64(answered))
		default:
			depth = max(depth, uint64(here))
		}
	}
	return depth
}
