package kvindex

import (
	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// removed applies a KindRemoved: one copy of each hash leaves the tier, or every tier
// when none is said or nobody knows it.
func (x *Index) removed(o *owner, e *kvevents.Event) {
	tiers := bit(e.Tier)
	if tiers == 0 {
		tiers = allTiers
	}
	for _, name := range e.Hashes {
		h := o.knower(e.Group, name)
		if h == nil {
			x.stats.RemovedUnknown++
			continue
		}
		x.take(h, name, tiers)
	}
}

// take removes one copy of a hash from each of the tiers.
func (x *Index) take(h *holder, name kvevents.Hash, tiers uint8) {
	found := false
	for t := range tierCount {
		if tiers&(1<<t) != 0 && x.takeOne(h, name, t) {
			found = true
		}
	}
	if !found {
		x.stats.RemovedUnknown++
	}
}

// takeOne removes a copy from one tier, the oldest content of the hash first.
func (x *Index) takeOne(h *holder, name kvevents.Hash, t int) bool {
	b := h.blocks[name]
	if b.copies[t] == 0 {
		for _, b = range h.twins[name] {
			if b.copies[t] > 0 {
				break
			}
		}
		if b.copies[t] == 0 {
			return false
		}
	}
	if b.copies[t]--; b.copies[t] > 0 {
		x.stats.ExtraCopies--
		h.put(name, b)
		return true
	}
	h.held[t].Add(-1)
	x.vacate(h, name, b, 1<<t)
	return true
}

// vacate takes a hash's last copy off tiers: the block is b afterwards.
func (x *Index) vacate(h *holder, name kvevents.Hash, b block, tiers uint8) {
	gone := b.tiers() == 0
	if b.ref == 0 {
		if !gone {
			h.blocks[name] = b
			return
		}
		h.drop(name, 0)
		h.unplaced.Add(-1)
		x.sizes.unplaced--
		x.sizes.entries--
		return
	}
	shard, i := splitRef(b.ref)
	s := &x.shards[shard]
	s.Lock()
	defer s.Unlock()
	n := s.at(i)
	if gone {
		before := len(h.aliases)
		h.uncall(name, b.ref, n)
		x.sizes.aliases += int64(len(h.aliases) - before)
		h.drop(name, b.ref)
		x.sizes.entries--
	} else {
		h.put(name, b)
	}
	s.hold(n, h.id, 0, tiers&^h.otherTiers(name, b.ref, n))
	x.prune(s, i)
}

// otherTiers is where further hashes of the holder have the node.
func (h *holder) otherTiers(name kvevents.Hash, ref uint32, n *node) uint8 {
	if n.name == name && h.aliases[ref] == nil {
		return 0
	}
	var t uint8
	for _, other := range h.names(ref, n) {
		if other == name {
			continue
		}
		if b, ok := h.at(other, ref); ok {
			t |= b.tiers()
		}
	}
	return t
}

// prune keeps the counts of nodes and shapes.
func (x *Index) prune(s *shard, i uint32) (stays uint32) {
	shape := s.at(i).shape
	stays, gone := s.prune(i)
	if gone == 0 {
		return stays
	}
	x.sizes.nodes -= int64(gone)
	x.shapes[shape].nodes -= gone
	if x.shapes[shape].nodes == 0 {
		x.publish()
	}
	return stays
}

// clear empties every group of an owner, on every tier.
func (x *Index) clear(o *owner) {
	x.stats.Clears++
	for _, h := range o.list() {
		x.empty(h)
	}
}

func (x *Index) empty(h *holder) {
	for name := range h.blocks {
		x.forget(h, name)
	}
	h.blocks, h.twins, h.aliases = map[kvevents.Hash]block{}, nil, nil
}

// forget drops every copy of a hash.
func (x *Index) forget(h *holder, name kvevents.Hash) {
	for {
		b, ok := h.blocks[name]
		if !ok {
			return
		}
		tiers := b.tiers()
		x.uncount(h, &b)
		x.vacate(h, name, b, tiers)
	}
}

// uncount zeroes a block's copies in the counts of holder and index.
func (x *Index) uncount(h *holder, b *block) {
	for t, n := range b.copies {
		if n > 0 {
			h.held[t].Add(-1)
			x.stats.ExtraCopies -= int64(n) - 1
		}
	}
	b.copies = [tierCount]uint8{}
}

// Reset forgets everything of an owner, its groups included: its engine began anew.
func (x *Index) Reset(o Owner) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := x.owners[o]; w != nil {
		x.clear(w)
		x.discard(w)
	}
}

// RemoveWorker forgets all ranks of a worker and what was credited to it. Its streams
// must have stopped.
func (x *Index) RemoveWorker(worker string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for o, w := range x.owners {
		if o.Worker == worker {
			x.clear(w)
			x.discard(w)
		}
	}
	delete(x.room, worker)
	x.pending.forget(worker)
}

// discard frees the numbers of an empty owner. No node mentions them any more, so a
// reader that still has the old view finds none.
func (x *Index) discard(o *owner) {
	for _, h := range o.list() {
		x.holders[h.id] = nil
	}
	x.slots[o.slot] = nil
	delete(x.owners, o.Owner)
	for len(x.holders) > 0 && x.holders[len(x.holders)-1] == nil {
		x.holders = x.holders[:len(x.holders)-1]
	}
	for len(x.slots) > 0 && x.slots[len(x.slots)-1] == nil {
		x.slots = x.slots[:len(x.slots)-1]
	}
	x.publish()
}
