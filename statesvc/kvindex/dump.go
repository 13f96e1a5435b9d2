package kvindex

// BlockView is one block for people.
type BlockView struct {
	Hash      uint64 // of the block and all before it; its value differs between processes
	Parent    uint64 // 0 for a first block
	Depth     int
	BlockSize int
	Bigram    bool
	Leaf      bool
	Holders   []HolderView // none where only longer prefixes are held
}

// HolderView is one cache group that has a block.
type HolderView struct {
	Owner Owner
	Group uint32
	Tiers uint8 // bits, device lowest: device, host, disk, external
}

// Dump appends up to limit blocks of each shard's share, so that a large index shows
// something of everywhere. more tells that there are others. Mutations wait, readers
// do not.
func (x *Index) Dump(dst []BlockView, limit int) (list []BlockView, more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	end := len(dst) + limit
	for si := range x.shards {
		s := &x.shards[si]
		stop := min(end, len(dst)+max(1, (end-len(dst))/(shards-si)))
		seen := 0
		for i := uint32(1); i <= s.top && len(dst) < stop; i++ {
			if n := s.at(i); n.set != 0 || n.children != 0 {
				dst = append(dst, x.show(s, n))
				seen++
			}
		}
		more = more || seen < s.live
	}
	return dst, more
}

// Find appends up to limit blocks whose hash begins with the given hexadecimal digits, at
// most 16. It looks at every block: mutations wait, readers do not.
func (x *Index) Find(dst []BlockView, prefix uint64, digits, limit int) (list []BlockView, more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	shift := 64 - 4*min(max(digits, 0), 16)
	end := len(dst) + limit
	for si := range x.shards {
		s := &x.shards[si]
		for i := uint32(1); i <= s.top; i++ {
			n := s.at(i)
			if n.set == 0 && n.children == 0 || n.hash>>shift != prefix {
				continue
			}
			if len(dst) >= end {
				return dst, true
			}
			dst = append(dst, x.show(s, n))
		}
	}
	return dst, false
}

func (x *Index) show(s *shard, n *node) BlockView {
	u := x.shapes[n.shape]
	b := BlockView{
		Hash: n.hash, Depth: int(n.depth), BlockSize: int(u.size), Bigram: u.bigram, Leaf: n.children == 0,
	}
	if n.parent != 0 {
		b.Parent = s.at(n.parent).hash
	}
	for _, m := range s.sets.members(n.set) {
		h := x.holders[m.holder()]
		b.Holders = append(b.Holders, HolderView{Owner: h.owner.Owner, Group: h.group, Tiers: m.tiers()})
	}
	return b
}
