package kvindex

// judge decides what the groups of an owner are worth together. A hit of d blocks
// needs d blocks in every full group, and in every sliding-window group the blocks
// that the window before position d touches (fixtures/README.md trap 5).
func (w *walk) judge(m *Match, s shape) {
	sparse := 0
	m.Certain = true
	for _, h := range m.owner.list() {
		switch {
		case h.sparse.Load():
			sparse++
			m.Certain = m.Certain && h.unplaced.Load() == 0 && h.window.Load() > 0
		case h.full():
			m.groups--
		}
	}
	if m.groups < 0 {
		m.Within = [tierCount]int{}
	}
	m.AtMost = m.Within[tierCount-1]
	m.Blocks = m.AtMost
	if sparse > 0 {
		m.Blocks = w.windowed(m.owner, m.AtMost, s)
		for t := range m.Within {
			m.Within[t] = min(m.Within[t], m.Blocks)
		}
		m.Certain = m.Certain || m.Blocks == m.AtMost
	}
	m.Tokens = m.Blocks * m.BlockSize
	m.groups = 0
}

// windowed lowers a depth until every sparse group of the owner has what it needs.
func (w *walk) windowed(o *owner, depth int, s shape) int {
	for {
		lower := depth
		for _, h := range o.list() {
			if h.sparse.Load() {
				lower = w.fit(h, lower, s)
			}
		}
		if lower == depth {
			return depth
		}
		depth = lower
	}
}

// fit is the greatest depth up to a limit at which the window of a group is filled.
// A group whose window nobody knows must hold everything.
func (w *walk) fit(h *holder, limit int, s shape) int {
	need := limit
	if window := int(h.window.Load()); window > 0 {
		need = (window - 1 + int(s.size) - 1) / int(s.size)
	}
	best := 0
	for i := range w.spans {
		p := &w.spans[i]
		if p.holder != h {
			continue
		}
		d := min(int(p.to), limit)
		if d > best && (p.from == 0 || d-int(p.from) >= need) {
			best = d
		}
	}
	return best
}
