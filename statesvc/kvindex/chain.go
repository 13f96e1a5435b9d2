package kvindex

import (
	"math/bits"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// shape is what a prompt is cut by: lookups hash a prompt once per shape in use.
type shape struct {
	size   uint32 // units per block
	bigram bool   // a unit is a pair of neighbouring tokens
}

// width counts the numbers of one unit.
func (s shape) width() int {
	if s.bigram {
		return 2
	}
	return 1
}

// keys are the secret of the chained hash. Without them nobody can construct two
// prompts of one hash.
type keys [4]uint64

func newKeys(seed uint64) keys {
	var k keys
	for i := range k {
		seed += 0x9E3779B97F4A7C15
		k[i] = scatter(seed)
	}
	return k
}

// scatter is the finisher of splitmix64: a bijection that spreads every bit.
func scatter(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// fold is the 128-bit product, folded to 64 bits.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// root is the value that the first block of a namespace chains to.
func (k *keys) root(s shape, salt, lora string) uint64 {
	h := fold(uint64(s.size)^k[0], uint64(s.width())^k[1])
	return k.text(k.text(h, salt), lora)
}

func (k *keys) text(h uint64, s string) uint64 {
	h = fold(h^k[2], uint64(len(s))^k[3])
	for len(s) > 0 {
		n := min(len(s), 8)
		var w uint64
		for i := range n {
			w |= uint64(s[i]) << (8 * i)
		}
		h = fold(h^k[2], w^k[3])
		s = s[n:]
	}
	return h
}

// block chains one block's numbers and its extra digest to what precedes it. All
// blocks below one root have the same length, so the length is not part of it.
func (k *keys) block(prev uint64, tokens []uint32, extra uint64) uint64 {
	h := prev ^ k[0]
	for len(tokens) >= 4 {
		h = fold(pair(tokens[0], tokens[1])^k[1], pair(tokens[2], tokens[3])^h)
		tokens = tokens[4:]
	}
	if len(tokens) > 0 {
		var last [4]uint32
		copy(last[:], tokens)
		h = fold(pair(last[0], last[1])^k[1], pair(last[2], last[3])^h)
	}
	return fold(h^k[2], extra^k[3])
}

func pair(low, high uint32) uint64 { return uint64(low) | uint64(high)<<32 }

// prompt appends the chained hashes of the blocks that a prompt can hit.
func (k *keys) prompt(dst []uint64, pairs []uint32, s shape, p Prompt) ([]uint64, []uint32) {
	size := int(s.size)
	h := k.root(s, p.Salt, p.LoRA)
	for i := range limit(len(p.Tokens), s) {
		block := p.Tokens[i*size:]
		if s.bigram {
			pairs = pairs[:0]
			for j := range size {
				pairs = append(pairs, block[j], block[j+1])
			}
			block = pairs
		}
		h = k.block(h, block[:size*s.width()], 0)
		dst = append(dst, h)
	}
	return dst, pairs
}

// limit is the blocks of a prompt that an engine can take from its cache: the last
// token is always computed (fixtures/README.md section 3).
func limit(tokens int, s shape) int {
	return max(tokens-1, 0) / int(s.size)
}

// shapeOf is the shape of a store that carries tokens.
func shapeOf(e *kvevents.Event) shape {
	return shape{size: e.BlockSize, bigram: e.Bigram}
}
