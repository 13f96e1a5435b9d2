package simulate

import (
	"container/list"
	"slices"
)

// BlockChars is the grain of engines' caches, in characters: that of the peers'
// benchmark.
const BlockChars = 64

const block = BlockChars

// cache is an engine's prefix cache. It forgets the least recently used block, the
// end of a prompt before its beginning.
type cache struct {
	capacity int // characters
	order    *list.List
	blocks   map[uint64]*list.Element
	hashes   []uint64 // of the prompt last used
	gone     []uint64 // blocks that it took the place of
}

func newCache(capacity int) *cache {
	return &cache{capacity: capacity, order: list.New(), blocks: map[uint64]*list.Element{}}
}

// use gives how many characters of a prompt are cached, and caches all of it.
func (c *cache) use(prompt string) (hit int) {
	c.hash(prompt)
	for _, h := range c.hashes {
		if c.blocks[h] == nil {
			break
		}
		hit += block
	}
	for _, h := range slices.Backward(c.hashes) {
		if e := c.blocks[h]; e != nil {
			c.order.MoveToFront(e)
		} else {
			c.blocks[h] = c.order.PushFront(h)
		}
	}
	c.gone = c.gone[:0]
	for len(c.blocks)*block > c.capacity {
		h, _ := c.order.Remove(c.order.Back()).(uint64)
		delete(c.blocks, h)
		c.gone = append(c.gone, h)
	}
	return hit
}

// hash chains the hashes of a prompt's whole blocks (FNV-1a).
func (c *cache) hash(prompt string) {
	c.hashes = c.hashes[:0]
	h := uint64(14695981039346656037)
	for ; len(prompt) >= block; prompt = prompt[block:] {
		for i := range block {
			h = (h ^ uint64(prompt[i])) * 1099511628211
		}
		c.hashes = append(c.hashes, h)
	}
}

// used is how many characters are cached.
func (c *cache) used() int { return len(c.blocks) * block }
