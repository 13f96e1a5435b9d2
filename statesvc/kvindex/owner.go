package kvindex

import (
	"slices"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// Owner is one KV cache: a data-parallel rank of a worker.
type Owner struct {
	Worker string
	Rank   uint32
}

const (
	tierCount  = 4
	allTiers   = 1<<tierCount - 1
	maxGroups  = 64 // of one owner; engines have a handful
	maxHolders = 1 << (32 - tierBits)
)

// bit is a tier's place in a node's tiers, nearest lowest; 0 for a tier that holds
// nothing.
func bit(t kvevents.Tier) uint8 {
	if t < kvevents.TierDevice || t > kvevents.TierExternal {
		return 0
	}
	return 1 << (t - kvevents.TierDevice)
}

// owner is what the writer keeps of an Owner.
type owner struct {
	Owner
	slot   uint32                    // dense number, for readers' scratch
	groups atomic.Pointer[[]*holder] // replaced, never changed in place
}

func (o *owner) list() []*holder {
	if g := o.groups.Load(); g != nil {
		return *g
	}
	return nil
}

// holder is one cache group of an owner. The atomics are read by Match.
type holder struct {
	id    uint32
	owner *owner
	group uint32

	chained  atomic.Bool   // has stored blocks that tokens place
	sparse   atomic.Bool   // holds some blocks of a range only, which is not said
	window   atomic.Uint32 // tokens of the sliding window, 0 for none or unknown
	unplaced atomic.Int64  // hashes without a node
	held     [tierCount]atomic.Int64

	blocks map[kvevents.Hash]block
	// twins are further nodes of a hash: an engine that leaves a namespace out of its
	// hash names two contents alike (fixtures: sglang salt-default-format).
	twins map[kvevents.Hash][]block
	// aliases are the hashes by which the holder knows a node, where that is not just
	// the node's own name.
	aliases map[uint32][]kvevents.Hash
}

// block is what an engine's hash stands for: a node, or none when no tokens place it,
// and how many copies are on each tier.
type block struct {
	ref    uint32 // shard and node, 0 for none
	copies [tierCount]uint8
}

func (b *block) tiers() uint8 {
	var t uint8
	for i, n := range b.copies {
		if n > 0 {
			t |= 1 << i
		}
	}
	return t
}

func refOf(shard, node uint32) uint32   { return shard<<(32-shardBits) | node }
func splitRef(ref uint32) (s, n uint32) { return ref >> (32 - shardBits), ref & maxNodes }

// full reports whether tokens place what the holder stores.
func (h *holder) full() bool { return h.chained.Load() && !h.sparse.Load() }

// names are the hashes by which the holder knows a node that it holds.
func (h *holder) names(r uint32, n *node) []kvevents.Hash {
	if list, ok := h.aliases[r]; ok {
		return list
	}
	return []kvevents.Hash{n.name}
}

// maxNodes is the highest node of a shard.
const maxNodes = 1<<(32-shardBits) - 1

// call records that the holder knows a node by a hash. held tells whether it knew the
// node before.
func (h *holder) call(name kvevents.Hash, ref uint32, n *node, held bool) {
	switch {
	case held:
		list := h.names(ref, n)
		if slices.Contains(list, name) {
			return
		}
		h.alias(ref, append(slices.Clone(list), name))
	case n.name != name:
		h.alias(ref, []kvevents.Hash{name})
	}
}

func (h *holder) alias(ref uint32, list []kvevents.Hash) {
	if h.aliases == nil {
		h.aliases = map[uint32][]kvevents.Hash{}
	}
	h.aliases[ref] = list
}

// uncall undoes call.
func (h *holder) uncall(name kvevents.Hash, ref uint32, n *node) {
	list, ok := h.aliases[ref]
	if !ok {
		return
	}
	if i := slices.Index(list, name); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 || len(list) == 1 && list[0] == n.name {
		delete(h.aliases, ref)
		return
	}
	h.aliases[ref] = list
}

// at finds the block of a hash at a node.
func (h *holder) at(name kvevents.Hash, ref uint32) (block, bool) {
	b, ok := h.blocks[name]
	if ok && b.ref == ref {
		return b, true
	}
	for _, b := range h.twins[name] {
		if b.ref == ref {
			return b, true
		}
	}
	return block{}, false
}

// put stores the block of a hash at its node.
func (h *holder) put(name kvevents.Hash, b block) {
	if old, ok := h.blocks[name]; !ok || old.ref == b.ref {
		h.blocks[name] = b
		return
	}
	list := h.twins[name]
	for i := range list {
		if list[i].ref == b.ref {
			list[i] = b
			return
		}
	}
	if h.twins == nil {
		h.twins = map[kvevents.Hash][]block{}
	}
	h.twins[name] = append(list, b)
}

// drop forgets the block of a hash at a node. Maps do not shrink, so an empty one is
// made anew.
func (h *holder) drop(name kvevents.Hash, ref uint32) {
	list := h.twins[name]
	if len(list) == 0 {
		delete(h.blocks, name)
		if len(h.blocks) == 0 {
			h.blocks, h.aliases = map[kvevents.Hash]block{}, nil
		}
		return
	}
	if h.blocks[name].ref == ref {
		h.blocks[name], list = list[0], list[1:]
	} else {
		list = slices.DeleteFunc(list, func(b block) bool { return b.ref == ref })
	}
	if h.twins[name] = list; len(list) == 0 {
		delete(h.twins, name)
	}
	if len(h.twins) == 0 {
		h.twins = nil
	}
}
