package kvindex

import (
	"container/heap"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// Bytes per thing: a node with its slots in the table, a hash in an owner's map, which
// is 20 to 39 by the map's load, a list of names of a holder's own, a set of holders, a
// member of one, a word of its planes.
const (
	nodeBytes   = 40 + 9
	entryBytes  = 37
	aliasBytes  = 70
	setBytes    = 112
	memberBytes = 4
	planeBytes  = 8
	// unplacedShare is the part of the budget that hashes without a node may take.
	unplacedShare = 8
	// lowWater is the part of the budget that an eviction frees.
	lowWater = 16
	// oldest is the least number of leaves that one scan gathers, and oldestShare the
	// part of all nodes: a scan of everything must pay.
	oldest      = 1 << 14
	oldestShare = 32
)

// sizes counts what takes memory.
type sizes struct {
	nodes    int64
	entries  int64
	unplaced int64
	aliases  int64
}

// bytes is the accounted memory of the tree and the owners' maps.
func (x *Index) bytes() int64 {
	n := x.sizes.nodes*nodeBytes + x.sizes.entries*entryBytes + x.sizes.aliases*aliasBytes
	for i := range x.shards {
		t := &x.shards[i].sets
		n += int64(len(x.shards[i].publics.byHash)) * publicBytes
		n += int64(t.live)*setBytes + int64(t.words)*memberBytes + int64(t.bits)*planeBytes
	}
	return n
}

// makeRoom is shrink after an event of an owner, which what is given up is put down to.
func (x *Index) makeRoom(o Owner) {
	before := x.stats.Evicted
	x.shrink()
	if n := x.stats.Evicted - before; n > 0 {
		x.room[o.Worker] += n
	}
}

// shrink brings the index within its budget: hashes without a node first, where they
// take more than their share, then the leaves that were used longest ago.
func (x *Index) shrink() {
	if x.cfg.Budget <= 0 {
		return
	}
	for x.sizes.unplaced*entryBytes > x.cfg.Budget/unplacedShare {
		x.forgetUnplaced()
	}
	if x.bytes() <= x.cfg.Budget {
		return
	}
	goal := x.cfg.Budget - x.cfg.Budget/lowWater
	for x.bytes() > goal && x.sizes.nodes > 0 {
		x.evictOldest(goal)
	}
}

// forgetUnplaced drops them for the holder that has most, so that one engine's flood
// is its own loss.
func (x *Index) forgetUnplaced() {
	var most *holder
	for _, h := range x.holders {
		if h != nil && (most == nil || h.unplaced.Load() > most.unplaced.Load()) {
			most = h
		}
	}
	if most == nil {
		return
	}
	x.stats.UnplacedDropped += uint64(most.unplaced.Load())
	kept := make(map[kvevents.Hash]block, len(most.blocks)-int(most.unplaced.Load()))
	for name, b := range most.blocks {
		if b.ref != 0 {
			kept[name] = b
			continue
		}
		x.uncount(most, &b)
	}
	x.sizes.unplaced -= most.unplaced.Load()
	x.sizes.entries -= most.unplaced.Load()
	most.blocks = kept
	most.unplaced.Store(0)
}

// leaf is a candidate of eviction.
type leaf struct {
	used, ref uint32
}

func (l leaf) before(m leaf) bool {
	return l.used < m.used || l.used == m.used && l.ref < m.ref
}

// leaves is a heap; newest turns it round.
type leaves struct {
	list   []leaf
	newest bool
}

func (h *leaves) Len() int           { return len(h.list) }
func (h *leaves) Less(i, j int) bool { return h.list[i].before(h.list[j]) != h.newest }
func (h *leaves) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *leaves) Push(v any)         { h.list = append(h.list, v.(leaf)) }
func (h *leaves) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// evictOldest gathers the oldest leaves and evicts them in order of last use, with
// the parents that become leaves in between, until the goal is reached.
func (x *Index) evictOldest(goal int64) {
	h := x.gather()
	if h.Len() == 0 {
		return
	}
	newest := h.list[0]
	h.newest = false
	heap.Init(h)
	for h.Len() > 0 && x.bytes() > goal {
		parent, ok := x.evict(heap.Pop(h).(leaf).ref)
		if ok && parent.before(newest) {
			heap.Push(h, parent)
		}
	}
}

// gather scans all nodes for the oldest leaves, as a heap with the newest of them on
// top.
func (x *Index) gather() *leaves {
	h := &leaves{newest: true}
	room := max(oldest, int(x.sizes.nodes/oldestShare))
	for si := range x.shards {
		s := &x.shards[si]
		for i := uint32(1); i <= s.top; i++ {
			n := s.at(i)
			if n.set == 0 || n.children != 0 {
				continue
			}
			l := leaf{used: atomic.LoadUint32(&n.used), ref: refOf(uint32(si), i)}
			switch {
			case len(h.list) < room:
				heap.Push(h, l)
			case l.before(h.list[0]):
				h.list[0] = l
				heap.Fix(h, 0)
			}
		}
	}
	return h
}

// strip drops all that a holder has at a node, save its membership.
func (x *Index) strip(h *holder, ref uint32, n *node) {
	names := h.names(ref, n)
	if _, ok := h.aliases[ref]; ok {
		delete(h.aliases, ref)
		x.sizes.aliases--
	}
	for _, name := range names {
		if b, ok := h.at(name, ref); ok {
			x.uncount(h, &b)
			h.drop(name, ref)
			x.sizes.entries--
		}
	}
}

// evict takes a leaf from all its holders. It answers with the parent if that is a
// leaf thereby.
func (x *Index) evict(ref uint32) (leaf, bool) {
	shard, i := splitRef(ref)
	s := &x.shards[shard]
	s.Lock()
	defer s.Unlock()
	n := s.at(i)
	for _, m := range s.sets.members(n.set) {
		x.strip(x.holders[m.holder()], ref, n)
	}
	s.sets.swap(n.set, 0)
	n.set = 0
	x.stats.Evicted++
	parent := x.prune(s, i)
	if parent == 0 {
		return leaf{}, false
	}
	if p := s.at(parent); p.children != 0 {
		return leaf{}, false
	}
	return leaf{used: atomic.LoadUint32(&s.at(parent).used), ref: refOf(shard, parent)}, true
}
