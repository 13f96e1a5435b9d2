package kvindex

import (
	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// store applies a KindStored.
func (x *Index) store(o *owner, e *kvevents.Event) {
	tier := bit(e.Tier)
	if e.Tier == kvevents.TierNone {
		tier = bit(kvevents.TierDevice)
	}
	if tier == 0 {
		x.stats.UnknownTier += uint64(len(e.Hashes))
		return
	}
	if len(e.Tokens) == 0 && !partial(e) {
		x.storePlaceholders(o, e, tier)
		return
	}
	h := x.group(o, e.Group)
	if h == nil {
		x.stats.TooManyGroups += uint64(len(e.Hashes))
		return
	}
	if partial(e) {
		h.window.Store(e.Window)
		x.setSparse(h)
	}
	if !x.storeChain(h, e, tier) {
		x.storeByName(h, e.Hashes, tier)
	}
}

// partial reports whether the event's group keeps only some blocks of a prompt: a
// window of them, or something else than blocks.
func partial(e *kvevents.Event) bool {
	return e.Window > 0 || e.Scope == kvevents.ScopeWindow || e.Scope == kvevents.ScopeOther
}

// storePlaceholders adds a tier to blocks that the owner knows. An offload tier does
// not say its group, so any group that knows the block is taken.
func (x *Index) storePlaceholders(o *owner, e *kvevents.Event, tier uint8) {
	for i := range e.Hashes {
		h := o.knower(e.Group, e.Hashes[i])
		if h == nil {
			h = x.group(o, e.Group) // the first of the owner: there is room
		}
		x.storeByName(h, e.Hashes[i:i+1], tier)
	}
}

// knower is the holder that an event without tokens is about: the group it names,
// else one that knows the hash, else any.
func (o *owner) knower(group uint32, name kvevents.Hash) *holder {
	list := o.list()
	for _, h := range list {
		if h.group == group {
			return h
		}
	}
	for _, h := range list {
		if _, ok := h.blocks[name]; ok {
			return h
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

// origin is where a range of blocks hangs.
type origin struct {
	hash  uint64
	ref   uint32
	depth uint32
}

// storeChain places a range by its tokens. It reports false when these do not place
// it: the group holds only some of the blocks, the numbers do not fit, or the parent
// is not placed.
func (x *Index) storeChain(h *holder, e *kvevents.Event, tier uint8) bool {
	if h.sparse.Load() {
		return false
	}
	if e.BlockSize == 0 || uint64(e.Units()) != uint64(len(e.Hashes))*uint64(e.BlockSize) {
		x.stats.Mismatched++
		if !h.chained.Load() && e.BlockSize > 0 && len(e.Hashes) < e.Units()/int(e.BlockSize) {
			x.setSparse(h)
		}
		return false
	}
	if len(e.Hashes) == 0 {
		return true
	}
	id, ok := x.shape(shapeOf(e))
	if !ok {
		x.stats.TooManyShapes++
		return false
	}
	from, ok := x.origin(h, e, id)
	if !ok {
		return false
	}
	h.chained.Store(true)
	x.place(h, e, tier, id, from)
	return true
}

func (x *Index) setSparse(h *holder) {
	if !h.sparse.Load() {
		h.sparse.Store(true)
		x.publish()
	}
}

// origin finds what a range hangs below. Without a parent that is the root of its
// namespace, else the node that the owner knows by the parent's hash, whose namespace
// goes on: the salt is said for the first block only.
func (x *Index) origin(h *holder, e *kvevents.Event, shape uint8) (origin, bool) {
	if !e.HasParent {
		return origin{hash: x.keys.root(shapeOf(e), e.Salt, e.LoRA)}, true
	}
	ref, ok := h.owner.resolve(h, e.Parent)
	switch {
	case !ok:
		x.stats.UnknownParent++
		return origin{}, false
	case len(h.twins[e.Parent]) > 0:
		x.stats.AmbiguousParent++
		return origin{}, false
	}
	s, i := splitRef(ref)
	n := x.shards[s].at(i)
	if n.shape != shape {
		x.stats.Mismatched++
		return origin{}, false
	}
	return origin{hash: n.hash, ref: ref, depth: n.depth + 1}, true
}

// resolve finds the node of a hash: the group's own, else another group's of the same
// owner, whose hashes are equal (fixtures/README.md trap 5).
func (o *owner) resolve(h *holder, name kvevents.Hash) (uint32, bool) {
	if b := h.blocks[name]; b.ref != 0 {
		return b.ref, true
	}
	for _, g := range o.list() {
		if b := g.blocks[name]; b.ref != 0 && len(g.twins[name]) == 0 {
			return b.ref, true
		}
	}
	return 0, false
}

// place puts a range into one shard, a chunk per lock hold.
func (x *Index) place(h *holder, e *kvevents.Event, tier, shape uint8, from origin) {
	units := int(e.BlockSize) * x.shapes[shape].width()
	used := x.tick()
	var shard uint32
	if x.shapes[shape].nodes == 0 {
		defer x.publish()
	}
	if from.ref != 0 {
		shard, _ = splitRef(from.ref)
	} else {
		shard = shardOf(x.keys.block(from.hash, e.Tokens[:units], extra(e, 0)))
	}
	s := &x.shards[shard]
	names := x.beginNaming(e, from)
	for i := 0; i < len(e.Hashes); {
		begin, end := i, min(i+chunk, len(e.Hashes))
		names.compute(e, begin, end, units)
		s.Lock()
		for ; i < end; i++ {
			hash := x.keys.block(from.hash, e.Tokens[i*units:(i+1)*units], extra(e, i))
			node := x.grow(s, hash, e.Hashes[i], from, shape, used)
			if node == 0 {
				s.Unlock()
				x.storeByName(h, e.Hashes[i:], tier)
				return
			}
			names.apply(s, node, i-begin)
			from = origin{hash: hash, ref: refOf(shard, node), depth: from.depth + 1}
			x.add(h, s, e.Hashes[i], from.ref, tier)
		}
		s.Unlock()
	}
	_, last := splitRef(from.ref)
	s.at(last).touch(used)
}

func extra(e *kvevents.Event, i int) uint64 {
	if i < len(e.Extra) {
		return e.Extra[i]
	}
	return 0
}

// grow finds or makes the node of a hash below its parent. It answers 0 when another
// prefix has the hash already, or the shard is full.
func (x *Index) grow(s *shard, hash uint64, name kvevents.Hash, from origin, shape uint8, used uint32) uint32 {
	_, parent := splitRef(from.ref)
	if i := s.find(hash); i != 0 {
		if n := s.at(i); n.parent == parent && n.shape == shape {
			return i
		}
		x.stats.Collisions++
		return 0
	}
	if s.live >= maxNodes-1 {
		x.stats.Collisions++
		return 0
	}
	x.shapes[shape].nodes++
	x.sizes.nodes++
	return s.insert(node{hash: hash, name: name, parent: parent, used: used, depth: from.depth, shape: shape})
}

// add counts one copy of a hash at a node, under the shard's lock.
func (x *Index) add(h *holder, s *shard, name kvevents.Hash, ref uint32, tier uint8) {
	b, ok := h.at(name, ref)
	if !ok {
		if old, was := h.blocks[name]; was && old.ref == 0 {
			h.unplaced.Add(-1)
			x.sizes.unplaced--
			b.copies = old.copies
		} else {
			x.sizes.entries++
		}
		b.ref = ref
	}
	x.count(h, &b, tier)
	if ok {
		h.put(name, b)
	} else {
		h.settle(name, b)
	}
	_, i := splitRef(ref)
	n := s.at(i)
	if had := s.hold(n, h.id, b.tiers(), 0); !ok {
		x.call(h, name, ref, n, had != 0)
		x.settleSiblings(h, s, name, ref)
	}
}

// call keeps the count of aliases.
func (x *Index) call(h *holder, name kvevents.Hash, ref uint32, n *node, held bool) {
	before := len(h.aliases)
	h.call(name, ref, n, held)
	x.sizes.aliases += int64(len(h.aliases) - before)
}

// settle stores the block of a hash that has had no node so far.
func (h *holder) settle(name kvevents.Hash, b block) {
	if old, ok := h.blocks[name]; ok && old.ref == 0 {
		h.blocks[name] = b
		return
	}
	h.put(name, b)
}

// settleSiblings places the same hash in the owner's other groups, whose events could
// not be placed by themselves.
func (x *Index) settleSiblings(h *holder, s *shard, name kvevents.Hash, ref uint32) {
	list := h.owner.list()
	if len(list) < 2 {
		return
	}
	_, i := splitRef(ref)
	for _, g := range list {
		b, ok := g.blocks[name]
		if !ok || b.ref != 0 {
			continue
		}
		b.ref = ref
		g.blocks[name] = b
		g.unplaced.Add(-1)
		x.sizes.unplaced--
		n := s.at(i)
		had := s.hold(n, g.id, b.tiers(), 0)
		x.call(g, name, ref, n, had != 0)
	}
}

// storeByName counts copies of blocks that only their hashes tell.
func (x *Index) storeByName(h *holder, names []kvevents.Hash, tier uint8) {
	for _, name := range names {
		if ref, ok := h.owner.resolve(h, name); ok {
			shard, _ := splitRef(ref)
			s := &x.shards[shard]
			s.Lock()
			x.add(h, s, name, ref, tier)
			s.Unlock()
			continue
		}
		b, ok := h.blocks[name]
		if !ok {
			h.unplaced.Add(1)
			x.sizes.unplaced++
			x.sizes.entries++
			x.stats.UnplacedEver++
		}
		x.count(h, &b, tier)
		h.blocks[name] = b
	}
}

// count adds a copy on a tier.
func (x *Index) count(h *holder, b *block, tier uint8) {
	for t := range b.copies {
		if tier&(1<<t) == 0 {
			continue
		}
		switch n := b.copies[t]; {
		case n == 0:
			h.held[t].Add(1)
			b.copies[t] = 1
		case n < x.cfg.MaxCopies:
			b.copies[t]++
			x.stats.ExtraCopies++
		default:
			x.stats.UncountedCopies++
		}
	}
}
