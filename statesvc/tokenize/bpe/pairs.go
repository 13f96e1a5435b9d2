package bpe

import "math/bits"

// none is the merge of a pair that does not merge; every real one is smaller.
const none = ^uint64(0)

// maxProbes bounds a look-up. With the load of at most a half, honest files stay far
// below it.
const maxProbes = 256

// pairs maps a pair of token ids to its merge: rank in the high half, the id of the
// result in the low half. It is a flat table, because merging looks up each pair of
// neighbours of the text.
type pairs struct {
	keys   []uint64 // pair + 1, so that 0 is free
	merges []uint64
	shift  int
}

func newPairs(n int) *pairs {
	width := bits.Len(uint(max(n, 8))*2 - 1)
	return &pairs{make([]uint64, 1<<width), make([]uint64, 1<<width), 64 - width}
}

func pairKey(left, right uint32) uint64 { return uint64(left)<<32 | uint64(right) + 1 }

func (p *pairs) slot(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> p.shift) }

// put adds a pair. It reports false for one that is there or would take too many
// probes.
func (p *pairs) put(left, right, rank, id uint32) bool {
	key, mask := pairKey(left, right), len(p.keys)-1
	for i, n := p.slot(key), 0; n < maxProbes; i, n = (i+1)&mask, n+1 {
		switch p.keys[i] {
		case 0:
			p.keys[i], p.merges[i] = key, uint64(rank)<<32|uint64(id)
			return true
		case key:
			return false
		}
	}
	return false
}

// get gives a pair's merge or none.
func (p *pairs) get(left, right uint32) uint64 {
	key, mask := pairKey(left, right), len(p.keys)-1
	for i, n := p.slot(key), 0; n < maxProbes; i, n = (i+1)&mask, n+1 {
		switch p.keys[i] {
		case key:
			return p.merges[i]
		case 0:
			return none
		}
	}
	return none
}
