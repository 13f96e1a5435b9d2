package kvindex

import (
	"sync"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

const (
	shardBits = 5 // engine-selection.md 10.6: 32 shards by the first block
	shards    = 1 << shardBits
	pageBits  = 8
	pageSize  = 1 << pageBits
	minSlots  = 64
)

// node is one block of content. Its hash names the block and all that precedes it.
// Node 0 of a shard is none.
type node struct {
	hash     uint64
	name     kvevents.Hash // what the first holder's engine calls it: most others do too
	parent   uint32        // also the next free node
	children uint32
	set      uint32 // who holds it
	used     uint32 // tick of the last use below or at it; atomic, readers set it
	depth    uint32 // blocks before it
	shape    uint8
}

// shard is the trees whose first blocks hash to it. Readers hold the read lock for
// one walk; the index's writer takes the write lock for at most chunk blocks.
type shard struct {
	sync.RWMutex
	pages []*[pageSize]node
	slots []uint32 // open addressing by the low bits of the hash
	live  int
	top   uint32 // nodes ever used
	free  uint32
	sets  setTable
	// publics is empty unless Config.Public.
	publics publics
}

func shardOf(first uint64) uint32 { return uint32(first >> (64 - shardBits)) }

func (s *shard) at(i uint32) *node { return &s.pages[i>>pageBits][i&(pageSize-1)] }

// find answers 0 when the hash is not there.
func (s *shard) find(hash uint64) uint32 {
	if len(s.slots) == 0 {
		return 0
	}
	mask := uint64(len(s.slots) - 1)
	for p := hash & mask; ; p = (p + 1) & mask {
		i := s.slots[p]
		if i == 0 || s.at(i).hash == hash {
			return i
		}
	}
}

// insert adds a node below a parent, or as a first block.
func (s *shard) insert(n node) uint32 {
	if s.live+1 > len(s.slots)*3/4 {
		s.rehash(max(minSlots, 2*len(s.slots)))
	}
	i := s.take()
	*s.at(i) = n
	s.live++
	if n.parent != 0 {
		s.at(n.parent).children++
	}
	s.seat(i)
	return i
}

func (s *shard) take() uint32 {
	if i := s.free; i != 0 {
		s.free = s.at(i).parent
		return i
	}
	s.top++
	if int(s.top>>pageBits) >= len(s.pages) {
		s.pages = append(s.pages, new([pageSize]node))
	}
	return s.top
}

func (s *shard) seat(i uint32) {
	mask := uint64(len(s.slots) - 1)
	p := s.at(i).hash & mask
	for s.slots[p] != 0 {
		p = (p + 1) & mask
	}
	s.slots[p] = i
}

func (s *shard) rehash(size int) {
	old := s.slots
	s.slots = make([]uint32, size)
	for _, i := range old {
		if i != 0 {
			s.seat(i)
		}
	}
}

// erase takes out a node without holders and children. The last node takes all
// memory of the shard with it.
func (s *shard) erase(i uint32) {
	n := s.at(i)
	s.unseat(n.hash, i)
	if n.parent != 0 {
		s.at(n.parent).children--
	}
	s.publics.drop(i)
	*n = node{parent: s.free}
	s.free = i
	if s.live--; s.live == 0 {
		s.pages, s.slots, s.top, s.free, s.sets, s.publics = nil, nil, 0, 0, setTable{}, publics{}
		return
	}
	if len(s.slots) > minSlots && s.live < len(s.slots)/8 {
		s.rehash(len(s.slots) / 4)
	}
}

// unseat empties the slot of a node and closes the hole, so that probes need no marks.
func (s *shard) unseat(hash uint64, i uint32) {
	mask := uint64(len(s.slots) - 1)
	p := hash & mask
	for s.slots[p] != i {
		p = (p + 1) & mask
	}
	hole := p
	for q := (p + 1) & mask; s.slots[q] != 0; q = (q + 1) & mask {
		home := s.at(s.slots[q]).hash & mask
		if (q-home)&mask >= (q-hole)&mask {
			s.slots[hole] = s.slots[q]
			hole = q
		}
	}
	s.slots[hole] = 0
}

// hold changes the tiers of a holder at a node and answers with what it had.
func (s *shard) hold(n *node, holder uint32, add, drop uint8) uint8 {
	to, old := s.sets.change(n.set, holder, add, drop)
	s.sets.swap(n.set, to)
	n.set = to
	return old
}

// touch notes a use. Ancestors are used with their descendants, and take over the
// tick when the last of these goes.
func (n *node) touch(tick uint32) {
	if atomic.LoadUint32(&n.used) < tick {
		atomic.StoreUint32(&n.used, tick)
	}
}

// prune takes out a node that nobody holds and that leads nowhere, then its parent if
// that is true of it too. It answers with the first that stays, 0 for none, and how
// many went, all of one shape.
func (s *shard) prune(i uint32) (stays uint32, gone int) {
	for i != 0 {
		n := s.at(i)
		if n.set != 0 || n.children != 0 {
			return i, gone
		}
		parent := n.parent
		if parent != 0 {
			s.at(parent).touch(atomic.LoadUint32(&n.used))
		}
		s.erase(i)
		gone++
		i = parent
	}
	return 0, gone
}
