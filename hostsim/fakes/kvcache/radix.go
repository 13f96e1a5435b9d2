package kvcache

import (
	"bytes"
	"cmp"
	"slices"
)

// Radix is SGLang's cache: a tree whose nodes hold runs of pages. Leaves that nobody
// uses go whole, oldest use first. What a sequence computes comes into the tree when a
// part of its prompt is done and when it ends.
type Radix struct {
	cfg   Config
	roots map[Namespace]*page
	free  int // pages neither in the tree nor a sequence's own
	clock uint64
	open  int // sequences
	log   log
	host  *host
}

// page is a node of the tree: a run of pages. A root has none.
type page struct {
	ns       Namespace
	parent   *page
	children map[Hash]*page // by the first page's hash
	hashes   []Hash
	tokens   []uint32
	users    int    // sequences at it or below
	used     uint64 // when a walk passed
}

// NewRadix makes an empty one. Its making is announced as a clear, as SGLang does.
func NewRadix(cfg Config) *Radix {
	r := &Radix{cfg: cfg, roots: map[Namespace]*page{}, free: cfg.Blocks}
	r.host = newHost(cfg.HostBlocks, &r.log)
	r.log.events = []Event{{Kind: Cleared}}
	return r
}

func (r *Radix) root(ns Namespace) *page {
	root := r.roots[ns]
	if root == nil {
		root = &page{ns: ns, children: map[Hash]*page{}}
		r.roots[ns] = root
	}
	return root
}

// walk follows a chain of hashes and splits the node in which it ends. It gives the last
// node and the number of pages that were there.
func (r *Radix) walk(ns Namespace, hashes []Hash) (at *page, depth int) {
	r.clock++
	at = r.root(ns)
	for depth < len(hashes) {
		next := at.children[hashes[depth]]
		if next == nil {
			break
		}
		same := 0
		for same < len(next.hashes) && depth+same < len(hashes) && next.hashes[same] == hashes[depth+same] {
			same++
		}
		if same < len(next.hashes) {
			next = r.split(next, same)
		}
		next.used = r.clock
		at = next
		depth += same
	}
	return at, depth
}

// split cuts a node in two and gives the upper one.
func (r *Radix) split(n *page, at int) *page {
	size := r.cfg.BlockSize
	upper := &page{
		ns: n.ns, parent: n.parent, hashes: n.hashes[:at:at], tokens: n.tokens[: at*size : at*size],
		users: n.users, used: n.used, children: map[Hash]*page{n.hashes[at]: n},
	}
	n.parent.children[n.hashes[0]] = upper
	n.parent, n.hashes, n.tokens = upper, n.hashes[at:], n.tokens[at*size:]
	return upper
}

// insert puts a chain into the tree. It gives its last node, and how many of its pages
// are new there.
func (r *Radix) insert(ns Namespace, hashes []Hash, tokens []uint32) (*page, int) {
	at, depth := r.walk(ns, hashes)
	added := len(hashes) - depth
	if added == 0 {
		return at, 0
	}
	n := &page{
		ns: ns, parent: at, children: map[Hash]*page{}, used: r.clock,
		hashes: slices.Clone(hashes[depth:]), tokens: slices.Clone(tokens[depth*r.cfg.BlockSize : len(hashes)*r.cfg.BlockSize]),
	}
	at.children[n.hashes[0]] = n
	e := Event{Kind: Stored, Hashes: n.hashes, Tokens: n.tokens, BlockSize: r.cfg.BlockSize, Namespace: ns}
	if depth > 0 {
		e.Parent = &hashes[depth-1]
	}
	r.log.add(e)
	r.host.keep(e, true)
	return n, added
}

// reserve makes pages free, by eviction if there are too few.
func (r *Radix) reserve(pages int) bool {
	if r.free < pages {
		r.evict(pages - r.free)
	}
	if r.free < pages {
		return false
	}
	r.free -= pages
	return true
}

// evict removes leaves until so many pages are free, or none is left to remove. All are
// told in one event.
func (r *Radix) evict(pages int) {
	leaves := r.leaves()
	gone := Event{Kind: Removed}
	for pages > 0 && len(leaves) > 0 {
		n := leaves[0]
		leaves = leaves[1:]
		gone.Hashes = append(gone.Hashes, n.hashes...)
		pages -= len(n.hashes)
		r.free += len(n.hashes)
		delete(n.parent.children, n.hashes[0])
		if n.parent.evictable() {
			at, _ := slices.BinarySearchFunc(leaves, n.parent, byUse)
			leaves = slices.Insert(leaves, at, n.parent)
		}
	}
	if len(gone.Hashes) > 0 {
		r.log.add(gone)
	}
}

func (n *page) evictable() bool { return n.parent != nil && n.users == 0 && len(n.children) == 0 }

func (r *Radix) leaves() []*page {
	var list []*page
	for _, root := range r.roots {
		root.visit(func(n *page) {
			if n.evictable() {
				list = append(list, n)
			}
		})
	}
	slices.SortFunc(list, byUse)
	return list
}

// byUse is the order of eviction. It is total, so that it does not depend on maps.
func byUse(a, b *page) int {
	return cmp.Or(cmp.Compare(a.used, b.used), bytes.Compare(a.hashes[0][:], b.hashes[0][:]))
}

func (n *page) visit(see func(*page)) {
	see(n)
	for _, c := range n.children {
		c.visit(see)
	}
}

// Admit implements Cache.
func (r *Radix) Admit(prompt []uint32, ns Namespace) (Sequence, int, bool) {
	s := &branch{tree: r, ns: ns, tokens: slices.Clone(prompt)}
	limit := max(len(prompt)-1, 0) / r.cfg.BlockSize
	s.hashTo(limit)
	at, depth := r.walk(ns, s.hashes[:limit])
	s.move(at)
	pages := (len(prompt) + r.cfg.BlockSize - 1) / r.cfg.BlockSize
	if !r.reserve(pages - depth) {
		s.move(nil)
		return nil, 0, false
	}
	s.own = pages - depth
	r.open++
	loaded := depth
	for loaded < limit && r.host.has(ns, s.hashes[loaded]) {
		loaded++
	}
	s.planned = loaded * r.cfg.BlockSize
	s.Complete()
	return s, s.computed, true
}

// Find implements Cache.
func (r *Radix) Find(prompt []uint32, ns Namespace) int {
	s := &branch{tree: r, ns: ns, tokens: prompt}
	limit := max(len(prompt)-1, 0) / r.cfg.BlockSize
	s.hashTo(limit)
	found := 0
	for at := r.roots[ns]; at != nil && found < limit; {
		next := at.children[s.hashes[found]]
		if next == nil {
			break
		}
		same := 0
		for same < len(next.hashes) && found < limit && next.hashes[same] == s.hashes[found] {
			same, found = same+1, found+1
		}
		if at = next; same < len(next.hashes) {
			break
		}
	}
	for found < limit && r.host.holds(ns, s.hashes[found]) {
		found++
	}
	return found * r.cfg.BlockSize
}

// Reset implements Cache.
func (r *Radix) Reset() bool {
	if r.open > 0 {
		return false
	}
	clear(r.roots)
	r.free = r.cfg.Blocks
	r.host.clear()
	r.log.clear()
	return true
}

// Take implements Cache.
func (r *Radix) Take() []Event { return r.log.take() }

// Held implements Cache.
func (r *Radix) Held() int { return r.cfg.Blocks - r.free }
