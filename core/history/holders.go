package history

// holder is one entry: an engine that was sent a prompt up to a boundary.
type holder struct {
	node         uint32
	newer, older uint32 // of the same row
	sibling      uint32 // next engine of the same boundary; next free entry
	born, stamp  uint32 // the entries that made it and used it last
	row          uint16
	tip          bool // a prompt ended here
}

const holderBytes = 28

// holders is all entries. Index 0 is none.
type holders struct {
	list  []holder
	free  uint32
	used  int
	limit int
}

func (h *holders) bytes() int { return cap(h.list) * holderBytes }

// take finds room for an entry.
func (h *holders) take() uint32 {
	h.used++
	if at := h.free; at != 0 {
		h.free = h.list[at].sibling
		return at
	}
	if len(h.list) == 0 {
		// All at once, with index 0: a list of this size that grows is copied often.
		h.list = make([]holder, 1, h.limit+2)
	}
	h.list = append(h.list, holder{})
	return uint32(len(h.list) - 1)
}

func (h *holders) give(at uint32) {
	h.list[at] = holder{sibling: h.free}
	h.free = at
	h.used--
}

// holderOf finds an engine's entry at a boundary, 0 when there is none.
func (t *Table) holderOf(node uint32, r uint16) uint32 {
	list := t.holders.list
	for h := t.nodes.list[node].first; h != 0; {
		e := &list[h]
		if e.row == r {
			return h
		}
		h = e.sibling
	}
	return 0
}

// raise finds an engine's entry at a boundary and makes it the first there, so that
// the entries of a boundary stand in the order of their last use. 0 is none: last is
// then the entry used longest ago, and before the one in front of it.
func (t *Table) raise(node uint32, r uint16) (h, before, last uint32) {
	list, first := t.holders.list, t.nodes.list[node].first
	for h = first; h != 0; {
		e := &list[h]
		if e.row == r {
			break
		}
		before, last, h = last, h, e.sibling
	}
	if h != 0 && h != first {
		list[last].sibling, list[h].sibling = list[h].sibling, first
		t.nodes.list[node].first = h
	}
	return h, before, last
}

// hold makes or refreshes an engine's entry at a boundary, where a prompt may have
// ended, and reports whether it is a new one.
func (t *Table) hold(node uint32, r uint16, tip bool) (added bool) {
	h, before, last := t.raise(node, r)
	if h == 0 {
		if t.nodes.list[node].count == maxHolders {
			t.dropBehind(last, before)
		}
		h, added = t.add(node, r), true
		t.link(h)
	} else if t.rows[r].newest != h {
		t.unlink(h)
		t.link(h)
	}
	holder := &t.holders.list[h]
	holder.stamp, holder.tip = t.ordinal, holder.tip || tip
	return added
}

// add makes an entry that is in no order of its row yet.
func (t *Table) add(node uint32, r uint16) uint32 {
	h, n := t.holders.take(), &t.nodes.list[node]
	t.holders.list[h] = holder{node: node, row: r, sibling: n.first, born: t.ordinal}
	n.first = h
	n.count++
	t.rows[r].count++
	t.rows[r].bytes += uint64(n.size)
	return h
}

// link makes an entry the newest of its row.
func (t *Table) link(h uint32) {
	e := &t.holders.list[h]
	r := &t.rows[e.row]
	e.older, e.newer = r.newest, 0
	if r.newest != 0 {
		t.holders.list[r.newest].newer = h
	} else {
		r.oldest = h
	}
	r.newest = h
}

// unlink takes an entry out of its row's order.
func (t *Table) unlink(h uint32) {
	e := &t.holders.list[h]
	r := &t.rows[e.row]
	if e.newer != 0 {
		t.holders.list[e.newer].older = e.older
	} else {
		r.newest = e.older
	}
	if e.older != 0 {
		t.holders.list[e.older].newer = e.newer
	} else {
		r.oldest = e.newer
	}
}

// drop forgets an entry, and its boundary with the last one.
func (t *Table) drop(h uint32) {
	list, before := t.holders.list, uint32(0)
	for at := t.nodes.list[list[h].node].first; at != h; at = list[at].sibling {
		before = at
	}
	t.dropBehind(h, before)
}

// dropBehind is drop of an entry that stands behind another one of its boundary, 0 for
// none.
func (t *Table) dropBehind(h, before uint32) {
	t.unlink(h)
	e := &t.holders.list[h]
	n, r := &t.nodes.list[e.node], &t.rows[e.row]
	if before == 0 {
		n.first = e.sibling
	} else {
		t.holders.list[before].sibling = e.sibling
	}
	n.count--
	r.count--
	r.bytes -= uint64(n.size)
	node, empty := e.node, n.first == 0
	t.holders.give(h)
	if empty {
		t.nodes.remove(node)
	}
}
