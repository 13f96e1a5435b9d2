package kvcache

import "slices"

// Pool is vLLM's cache: physical blocks in a queue of free ones. A block that is free
// keeps its content until it is handed out again, oldest first; the blocks of a sequence
// become free last one first, and one that never filled is the next to be handed out
// (Config.UnfilledLast). One content may lie in two blocks. It was held against the
// recorded runs, eviction by eviction.
type Pool struct {
	cfg    Config
	blocks []physical       // 0 is the queue's end on both sides; made when first handed out
	free   int              // those in the queue, and those not made yet
	first  int              // blocks at the front of the queue, before those not made yet
	cached map[Hash][]int32 // by first stored
	log    log
	host   *host
}

// physical is one block. Those that are free are linked; those in use are not.
type physical struct {
	hash       Hash
	hashed     bool
	users      int
	prev, next int32
}

// NewPool makes an empty one.
func NewPool(cfg Config) *Pool {
	if cfg.Root == (Hash{}) {
		cfg.Root = RootHash("")
	}
	p := &Pool{cfg: cfg, blocks: make([]physical, 1), free: cfg.Blocks, cached: map[Hash][]int32{}}
	p.host = newHost(cfg.HostBlocks, &p.log)
	return p
}

// enqueue makes a block free: the last to be handed out, or the next if it never filled.
func (p *Pool) enqueue(i int32) {
	before := p.blocks[0].prev
	if !p.blocks[i].hashed && !p.cfg.UnfilledLast {
		before = 0
		p.first++
	}
	after := p.blocks[before].next
	p.blocks[i].prev, p.blocks[i].next = before, after
	p.blocks[before].next, p.blocks[after].prev = i, i
	p.free++
}

func (p *Pool) dequeue(i int32) {
	b := &p.blocks[i]
	p.blocks[b.prev].next, p.blocks[b.next].prev = b.next, b.prev
	p.free--
}

// use takes a cached block for one more sequence.
func (p *Pool) use(i int32) {
	if p.blocks[i].users == 0 {
		p.dequeue(i)
	}
	p.blocks[i].users++
}

// fresh hands out the block that has been free longest, without its content.
func (p *Pool) fresh() int32 {
	switch {
	case p.first > 0:
		p.first--
	case len(p.blocks) <= p.cfg.Blocks:
		p.blocks = append(p.blocks, physical{users: 1})
		p.free--
		return int32(len(p.blocks) - 1)
	}
	i := p.blocks[0].next
	p.use(i)
	b := &p.blocks[i]
	if !b.hashed {
		return i
	}
	list := slices.DeleteFunc(p.cached[b.hash], func(o int32) bool { return o == i })
	if p.cached[b.hash] = list; len(list) == 0 {
		delete(p.cached, b.hash)
	}
	p.log.add(Event{Kind: Removed, Hashes: []Hash{b.hash}})
	b.hashed = false
	return i
}

// Admit implements Cache. vLLM has no extra key.
func (p *Pool) Admit(prompt []uint32, ns Namespace) (Sequence, int, bool) {
	ns.Key = ""
	s := &pooled{pool: p, ns: ns, tokens: slices.Clone(prompt)}
	limit := max(len(prompt)-1, 0) / p.cfg.BlockSize
	for len(s.blocks) < limit {
		list := p.cached[s.hash(len(s.blocks))]
		if len(list) == 0 {
			break
		}
		p.use(list[0])
		s.blocks = append(s.blocks, list[0])
	}
	s.stored = len(s.blocks)
	if blocks := (len(prompt) + p.cfg.BlockSize - 1) / p.cfg.BlockSize; blocks-len(s.blocks) > p.free {
		s.Release()
		return nil, 0, false
	}
	loaded := s.stored
	for loaded < limit && p.host.has(ns, s.hash(loaded)) {
		loaded++
	}
	s.computed = s.stored * p.cfg.BlockSize
	s.advance(loaded * p.cfg.BlockSize)
	return s, s.computed, true
}

// Find implements Cache.
func (p *Pool) Find(prompt []uint32, ns Namespace) int {
	ns.Key = ""
	s := &pooled{pool: p, ns: ns, tokens: prompt}
	limit := max(len(prompt)-1, 0) / p.cfg.BlockSize
	found := 0
	for found < limit && len(p.cached[s.hash(found)]) > 0 {
		found++
	}
	for found < limit && p.host.holds(ns, s.hash(found)) {
		found++
	}
	return found * p.cfg.BlockSize
}

// Reset implements Cache.
func (p *Pool) Reset() bool {
	if p.free < p.cfg.Blocks {
		return false
	}
	for i := range p.blocks {
		p.blocks[i].hashed = false
	}
	clear(p.cached)
	p.host.clear()
	p.log.clear()
	return true
}

// Take implements Cache.
func (p *Pool) Take() []Event { return p.log.take() }

// Held implements Cache.
func (p *Pool) Held() int {
	held := p.cfg.Blocks - p.free
	for i := p.blocks[0].next; i != 0; i = p.blocks[i].next {
		if p.blocks[i].hashed {
			held++
		}
	}
	return held
}

// pooled is a sequence of a Pool.
type pooled struct {
	pool     *Pool
	ns       Namespace
	tokens   []uint32
	hashes   []Hash // of the full blocks that were asked for so far
	blocks   []int32
	computed int // tokens
	stored   int // blocks that are announced
	lost     bool
}

// hash is the name of the i-th block, whose tokens are there.
func (s *pooled) hash(i int) Hash {
	size := s.pool.cfg.BlockSize
	for n := len(s.hashes); n <= i; n++ {
		parent := s.pool.cfg.Root
		if n > 0 {
			parent = s.hashes[n-1]
		}
		s.hashes = append(s.hashes, vllmHash(parent, s.tokens[n*size:(n+1)*size], s.ns, n == 0))
	}
	return s.hashes[i]
}

// Schedule implements Sequence: a pool's blocks are in the cache as soon as they are
// going to be computed, so that the next prompt of the same step finds them.
func (s *pooled) Schedule(limit int) int {
	to := min(len(s.tokens), s.computed+limit)
	s.advance(to)
	return len(s.tokens) - to
}

// Complete implements Sequence.
func (s *pooled) Complete() {}

// Report implements Sequence.
func (s *pooled) Report() {
	if s.stored == 0 {
		return
	}
	s.pool.log.add(Event{
		Kind: Stored, BlockSize: s.pool.cfg.BlockSize, Namespace: s.ns, Hashes: slices.Clone(s.hashes[:s.stored]),
		Tokens: slices.Clone(s.tokens[:s.stored*s.pool.cfg.BlockSize]),
	})
}

// Append implements Sequence.
func (s *pooled) Append(token uint32) bool {
	s.tokens = append(s.tokens, token)
	return s.advance(len(s.tokens) - 1)
}

// advance computes tokens up to a place.
func (s *pooled) advance(to int) bool {
	size := s.pool.cfg.BlockSize
	need := (to+size-1)/size - len(s.blocks)
	if s.lost || need > s.pool.free {
		s.Release()
		s.lost = true
		return false
	}
	for range need {
		s.blocks = append(s.blocks, s.pool.fresh())
	}
	s.computed = max(s.computed, to)
	if full := s.computed / size; full > s.stored {
		s.store(full)
	}
	return true
}

// store announces the full blocks up to a number.
func (s *pooled) store(full int) {
	size := s.pool.cfg.BlockSize
	e := Event{
		Kind: Stored, BlockSize: size, Namespace: s.ns,
		Tokens: slices.Clone(s.tokens[s.stored*size : full*size]),
	}
	if s.stored > 0 {
		parent := s.hash(s.stored - 1)
		e.Parent = &parent
	}
	for ; s.stored < full; s.stored++ {
		h, i := s.hash(s.stored), s.blocks[s.stored]
		s.pool.blocks[i].hash, s.pool.blocks[i].hashed = h, true
		s.pool.cached[h] = append(s.pool.cached[h], i)
		e.Hashes = append(e.Hashes, h)
	}
	s.pool.log.add(e)
	s.pool.host.keep(e, false)
}

// Release implements Sequence.
func (s *pooled) Release() {
	for _, i := range slices.Backward(s.blocks) {
		if s.pool.blocks[i].users--; s.pool.blocks[i].users == 0 {
			s.pool.enqueue(i)
		}
	}
	s.blocks = nil
}
