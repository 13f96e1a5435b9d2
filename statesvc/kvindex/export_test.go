package kvindex

import (
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// Hashes and MatchHashes split Match, for the benchmark of the walk alone.
func (x *Index) Hashes(p Prompt, r *Result) {
	s := x.view.Load().shapes[0]
	r.hashes, r.pairs = x.keys.prompt(r.hashes[:0], r.pairs, s, p)
}

func (x *Index) MatchHashes(r *Result) {
	r.Matches = r.Matches[:0]
	x.matchHashes(x.view.Load().shapes[0], r)
}

// Plant makes the key of a prompt's first block the key of another block: it rekeys
// the index's only other node of depth 1. It reports false when the two would not
// share a shard.
func (x *Index) Plant(p Prompt) bool {
	var r Result
	x.Hashes(p, &r)
	s := &x.shards[shardOf(r.hashes[0])]
	for i := uint32(1); i <= s.top; i++ {
		if n := s.at(i); n.depth == 1 {
			s.unseat(n.hash, i)
			n.hash = r.hashes[0]
			s.seat(i)
			return true
		}
	}
	return false
}

// Sane checks every invariant of the index.
func (x *Index) Sane() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := checker{x: x, held: map[place]uint8{}}
	for _, check := range []func() error{c.maps, c.nodes, c.publics, c.totals, c.views, c.credits} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type place struct{ ref, holder uint32 }

type checker struct {
	x       *Index
	held    map[place]uint8 // what the owners' maps say
	entries int64
	extra   int64
	blank   int64
	aliases int64
}

func (c *checker) maps() error {
	for id, h := range c.x.holders {
		if h == nil {
			continue
		}
		if h.id != uint32(id) {
			return fmt.Errorf("holder %d believes to be %d", id, h.id)
		}
		if err := c.holder(h); err != nil {
			return fmt.Errorf("%v group %d: %w", h.owner.Owner, h.group, err)
		}
	}
	return nil
}

func (c *checker) holder(h *holder) error {
	var held [tierCount]int64
	var blank int64
	names := map[uint32]map[kvevents.Hash]bool{}
	see := func(name kvevents.Hash, b block) error {
		c.entries++
		if b.tiers() == 0 {
			return fmt.Errorf("%x has no copy", name)
		}
		for t, n := range b.copies {
			if n > 0 {
				held[t]++
				c.extra += int64(n) - 1
			}
		}
		if b.ref == 0 {
			blank++
			return nil
		}
		c.held[place{b.ref, h.id}] |= b.tiers()
		if names[b.ref] == nil {
			names[b.ref] = map[kvevents.Hash]bool{}
		}
		names[b.ref][name] = true
		return nil
	}
	for name, b := range h.blocks {
		if err := see(name, b); err != nil {
			return err
		}
	}
	for name, list := range h.twins {
		if len(list) == 0 || h.blocks[name].ref == 0 {
			return fmt.Errorf("%x has idle twins", name)
		}
		for _, b := range list {
			if err := see(name, b); err != nil {
				return err
			}
		}
	}
	c.blank += blank
	for t := range held {
		if held[t] != h.held[t].Load() {
			return fmt.Errorf("occupancy of tier %d is %d, said %d", t, held[t], h.held[t].Load())
		}
	}
	if blank != h.unplaced.Load() {
		return fmt.Errorf("%d unplaced, said %d", blank, h.unplaced.Load())
	}
	return c.names(h, names)
}

func (c *checker) names(h *holder, names map[uint32]map[kvevents.Hash]bool) error {
	for ref, set := range names {
		s, i := splitRef(ref)
		list := h.names(ref, c.x.shards[s].at(i))
		if len(list) != len(set) {
			return fmt.Errorf("node %x has %d names, %d listed", ref, len(set), len(list))
		}
		for _, n := range list {
			if !set[n] {
				return fmt.Errorf("node %x is not known as %x", ref, n)
			}
		}
	}
	c.aliases += int64(len(h.aliases))
	for ref := range h.aliases {
		if names[ref] == nil {
			return fmt.Errorf("aliases of an unknown node %x", ref)
		}
	}
	return nil
}

func (c *checker) nodes() error {
	var total int64
	shapes := map[uint8]int{}
	for si := range c.x.shards {
		s := &c.x.shards[si]
		children, refs, live := map[uint32]uint32{}, map[uint32]uint32{}, 0
		for i := uint32(1); i <= s.top; i++ {
			n := s.at(i)
			if n.set == 0 && n.children == 0 {
				continue
			}
			live++
			shapes[n.shape]++
			children[n.parent]++
			refs[n.set]++
			if s.find(n.hash) != i {
				return fmt.Errorf("node %d of shard %d is not found", i, si)
			}
			for _, m := range s.sets.members(n.set) {
				p := place{refOf(uint32(si), i), m.holder()}
				if c.held[p] != m.tiers() {
					return fmt.Errorf("%v: tiers %b, the map says %b", p, m.tiers(), c.held[p])
				}
				delete(c.held, p)
			}
		}
		if live != s.live {
			return fmt.Errorf("shard %d has %d nodes, said %d", si, live, s.live)
		}
		for i := uint32(1); i <= s.top; i++ {
			if n := s.at(i); n.set != 0 || n.children != 0 {
				if n.children != children[i] {
					return fmt.Errorf("node %d has %d children, said %d", i, children[i], n.children)
				}
			}
		}
		if err := saneSets(s, refs); err != nil {
			return fmt.Errorf("shard %d: %w", si, err)
		}
		total += int64(live)
	}
	if len(c.held) > 0 {
		return fmt.Errorf("maps mention places that nodes do not: %v", c.held)
	}
	if total != c.x.sizes.nodes {
		return fmt.Errorf("%d nodes, said %d", total, c.x.sizes.nodes)
	}
	for i, u := range c.x.shapes {
		if u.nodes != shapes[uint8(i)] {
			return fmt.Errorf("shape %d has %d nodes, said %d", i, shapes[uint8(i)], u.nodes)
		}
	}
	return nil
}

// publics checks that names lead to living nodes, and that each node with a digest is
// called by it or has the name of another.
func (c *checker) publics() error {
	for si := range c.x.shards {
		s := &c.x.shards[si]
		for hash, i := range s.publics.byHash {
			d, ok := s.publics.of(i)
			if n := s.at(i); !ok || d.Hash() != hash || n.set == 0 && n.children == 0 {
				return fmt.Errorf("%d leads to node %d of shard %d, which is not called so", hash, i, si)
			}
		}
		for page := range s.publics.pages {
			for i := uint32(page) << pageBits; i < uint32(page+1)<<pageBits; i++ {
				if d, ok := s.publics.of(i); ok && (i > s.top || s.at(i).set == 0 && s.at(i).children == 0) {
					return fmt.Errorf("node %d of shard %d is gone and has the digest of %d", i, si, d.Hash())
				}
			}
		}
	}
	return nil
}

func saneSets(s *shard, refs map[uint32]uint32) error {
	live, words, bits := 0, 0, 0
	for id := 1; id < len(s.sets.sets); id++ {
		set := &s.sets.sets[id]
		if set.refs == 0 {
			continue
		}
		live++
		words += len(set.members)
		bits += cap(set.planes)
		if p, count := planesOf(set.members, nil); !slices.Equal(p, set.planes) || count != set.count {
			return fmt.Errorf("set of %d members has planes of another", len(set.members))
		}
		if set.refs != refs[uint32(id)] || s.sets.byKey[set.key] != uint32(id) {
			return fmt.Errorf("set %d has %d users, said %d", id, refs[uint32(id)], set.refs)
		}
		for i, m := range set.members {
			if m.tiers() == 0 || i > 0 && set.members[i-1].holder() >= m.holder() {
				return fmt.Errorf("set %d is not in order: %v", id, set.members)
			}
		}
	}
	if live != s.sets.live || words != s.sets.words || bits != s.sets.bits || live != len(s.sets.byKey) {
		return fmt.Errorf("%d sets of %d members, said %d of %d", live, words, s.sets.live, s.sets.words)
	}
	return nil
}

func (c *checker) totals() error {
	z := c.x.sizes
	if c.entries != z.entries || c.blank != z.unplaced || c.extra != c.x.stats.ExtraCopies || c.aliases != z.aliases {
		return fmt.Errorf("entries %d, unplaced %d, extra %d, aliases %d; said %+v, %d", c.entries, c.blank, c.extra, c.aliases, z, c.x.stats.ExtraCopies)
	}
	return nil
}

func (c *checker) views() error {
	v := c.x.view.Load()
	shapes := 0
	for _, u := range c.x.shapes {
		if u.nodes > 0 {
			shapes++
		}
	}
	if len(v.holders) != len(c.x.holders) || len(v.shapes) != shapes {
		return fmt.Errorf("the view has %d holders, %d shapes; the index %d, %d", len(v.holders), len(v.shapes), len(c.x.holders), shapes)
	}
	return nil
}

func (c *checker) credits() error {
	p := &c.x.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	claims := 0
	for _, list := range p.at {
		claims += len(list)
	}
	if n := len(p.queue) - p.head; claims > n || n > p.max {
		return fmt.Errorf("%d claims in %d records", claims, n)
	}
	return nil
}
