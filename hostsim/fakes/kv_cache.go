package fakes

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
)

// prefixCache is the caches and publishers of one process. A nil one does nothing: the engine has no prefix cache.
type prefixCache struct {
	cfg   KVConfig
	ranks []*rankCache
	ports KVPorts
	hit   atomic.Int64 // tokens

	stop context.CancelFunc
	work sync.WaitGroup
}

// rankCache is the cache of one rank.
type rankCache struct {
	rank  int
	clock Clock
	enc   kvwire.Encoder
	feed  *kvfeed.Feed // nil when nothing is published
	load  *kvfeed.Feed

	uncached atomic.Int64 // prompt tokens computed

	mu    sync.Mutex // of the cache and of the order of batches
	cache kvcache.Cache
}

func newRankCache(c Config, rank int) *rankCache {
	r := &rankCache{rank: rank, clock: c.Clock}
	cfg := kvcache.Config{Blocks: c.KVBlocks, BlockSize: c.BlockSize, HostBlocks: c.KV.HostBlocks}
	if c.Dialect == SGLang {
		r.cache = kvcache.NewRadix(cfg)
		return r
	}
	r.enc = kvwire.Encoder{ByteHashes: c.KV.ByteHashes, LoRAIDs: map[string]int{}}
	r.enc.VLLM, _ = kvwire.ParseRelease(c.Version) // Config.validate has tried it
	for i, a := range c.Adapters {
		r.enc.LoRAIDs[a.Name] = i + 1
	}
	cfg.UnfilledLast = r.enc.VLLM.UnfilledLast()
	cfg.Root = kvcache.RootHash(c.KV.HashSeed)
	r.cache = kvcache.NewPool(cfg)
	return r
}

// step does something to the cache and publishes what that makes it say.
func (r *rankCache) step(do func(kvcache.Cache)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.cache)
	events := r.cache.Take()
	if len(events) == 0 || r.feed == nil {
		return
	}
	r.feed.Publish(r.enc.Batch(float64(r.clock.Now().UnixMicro())/1e6, events, r.rank))
}

// quiet does something to the cache that is published with the next step.
func (r *rankCache) quiet(do func(kvcache.Cache)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.cache)
}

// hits counts prompt tokens that were found.
func (k *prefixCache) hits() int64 {
	if k == nil {
		return 0
	}
	return k.hit.Load()
}

// reset empties all ranks. It reports false where one could not be, because requests run.
func (k *prefixCache) reset() bool {
	all := true
	for _, r := range k.ranks {
		r.quiet(func(c kvcache.Cache) { all = c.Reset() && all })
	}
	return all
}

// admit looks a request's prompts up and takes their blocks. It is nil when there is no cache, or no room: the prompt is
// computed whole and nothing of it is kept.
func (k *prefixCache) admit(rank int, c *call) *prefix {
	if k == nil {
		return nil
	}
	p := &prefix{rank: k.ranks[rank], chunk: k.cfg.Chunk}
	p.rank.quiet(func(cache kvcache.Cache) {
		for i, tokens := range c.sequences {
			seq, cached, ok := cache.Admit(tokens, c.namespace)
			if !ok {
				continue
			}
			p.sequences = append(p.sequences, seq)
			if c.report {
				seq.Report()
			}
			if i%(len(c.sequences)/c.prompts) == 0 { // the further choices of a prompt are not counted
				p.cached += cached
			}
		}
	})
	k.hit.Add(int64(p.cached))
	c.cached = p.cached
	return p
}

// prefix is a request's part of a cache.
type prefix struct {
	rank      *rankCache
	sequences []kvcache.Sequence
	cached    int // tokens
	chunk     int
}

// compute does the prompt step by step; spend takes the time for so many tokens.
func (p *prefix) compute(prompt int, spend func(tokens int) error) error {
	if p == nil {
		return spend(prompt)
	}
	left := prompt - p.cached
	for {
		step := left
		if p.chunk > 0 {
			step = min(step, p.chunk)
		}
		p.rank.quiet(func(kvcache.Cache) { p.schedule(step) })
		if err := spend(step); err != nil {
			return err
		}
		p.rank.uncached.Add(int64(step))
		p.rank.step(func(kvcache.Cache) { p.complete() })
		if left -= step; left <= 0 {
			return nil
		}
	}
}

func (p *prefix) schedule(step int) {
	for _, s := range p.sequences {
		s.Schedule(step)
	}
}

func (p *prefix) complete() {
	for _, s := range p.sequences {
		s.Complete()
	}
}

// receive stores a prompt that was computed elsewhere.
func (p *prefix) receive() {
	if p == nil {
		return
	}
	p.rank.step(func(kvcache.Cache) {
		p.schedule(1 << 30)
		p.complete()
	})
}

// grow notes generated tokens, the done-th and those after it.
func (p *prefix) grow(seed uint64, done, tokens int) {
	if p == nil {
		return
	}
	p.rank.step(func(kvcache.Cache) {
		for _, s := range p.sequences {
			for i := range tokens {
				s.Append(wordID(seed, done+i))
			}
		}
	})
}

// release ends the request; what it filled stays.
func (p *prefix) release() {
	if p == nil {
		return
	}
	p.rank.step(func(kvcache.Cache) {
		for _, s := range p.sequences {
			s.Release()
		}
	})
	p.sequences = nil
}
