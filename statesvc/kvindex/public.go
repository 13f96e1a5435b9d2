package kvindex

import (
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
)

// publicBytes is what a public hash takes: the digest and an entry of the map.
const publicBytes = 32 + 24

// publics are the names that others know a shard's blocks by: SGLang's hashes, of the
// blocks of whatever engine. A block has none below an adapter or an item that is not
// of the prompt's tokens, since these are not part of the hash.
type publics struct {
	pages  []*[pageSize]sglhash.Digest // by node
	byHash map[int64]uint32
}

// of is the digest of a node; ok is false when it has none.
func (p *publics) of(i uint32) (d sglhash.Digest, ok bool) {
	if page := int(i >> pageBits); page < len(p.pages) && p.pages[page] != nil {
		d = p.pages[page][i&(pageSize-1)]
	}
	return d, d != sglhash.Digest{}
}

// name gives a node its hash. The first of two nodes of one hash has it.
func (p *publics) name(i uint32, d *sglhash.Digest) {
	page := int(i >> pageBits)
	for page >= len(p.pages) {
		p.pages = append(p.pages, nil)
	}
	if p.pages[page] == nil {
		p.pages[page] = new([pageSize]sglhash.Digest)
	}
	p.pages[page][i&(pageSize-1)] = *d
	if p.byHash == nil {
		p.byHash = map[int64]uint32{}
	}
	if _, taken := p.byHash[d.Hash()]; !taken {
		p.byHash[d.Hash()] = i
	}
}

// drop forgets a node's hash.
func (p *publics) drop(i uint32) {
	d, ok := p.of(i)
	if !ok {
		return
	}
	p.pages[i>>pageBits][i&(pageSize-1)] = sglhash.Digest{}
	if p.byHash[d.Hash()] == i {
		delete(p.byHash, d.Hash())
	}
}

// naming computes the public hashes of a stored range, a chunk at a time, so that no
// reader waits for it.
type naming struct {
	on    bool // the blocks from here on have one
	chain sglhash.Chain
	list  []sglhash.Digest // of the chunk
}

// beginNaming prepares for a range that hangs below an origin.
func (x *Index) beginNaming(e *kvevents.Event, from origin) *naming {
	n := &x.naming
	n.on = x.cfg.Public
	switch {
	case !n.on:
	case from.ref == 0:
		n.on = e.LoRA == ""
		n.chain.Begin(e.Salt)
	default:
		shard, i := splitRef(from.ref)
		var d sglhash.Digest
		if d, n.on = x.shards[shard].publics.of(i); n.on {
			n.chain.Resume(d)
		}
	}
	return n
}

// compute takes the blocks of a chunk.
func (n *naming) compute(e *kvevents.Event, from, to, units int) {
	n.list = n.list[:0]
	for i := from; i < to && n.on; i++ {
		if n.on = extra(e, i) == 0; n.on {
			n.list = append(n.list, n.chain.Next(e.Tokens[i*units:(i+1)*units]))
		}
	}
}

// apply names a node that was found or made, under the shard's lock. at is the block's
// place in the chunk.
func (n *naming) apply(s *shard, node uint32, at int) {
	if at >= len(n.list) {
		return
	}
	if _, has := s.publics.of(node); !has {
		s.publics.name(node, &n.list[at])
	}
}

// MatchPublic finds what each owner holds of a prompt that is told by SGLang's hashes of
// its blocks (engine-selection.md 10.7), the first block first. An index without
// Config.Public finds nothing. Pending prefixes do not count, and the last block does:
// who asks knows how long the prompt is.
func (x *Index) MatchPublic(hashes []int64, r *Result) {
	r.Matches, r.Shared = r.Matches[:0], 0
	if len(hashes) == 0 {
		return
	}
	for i := range x.shards {
		x.matchPublic(&x.shards[i], hashes, r)
	}
}

func (x *Index) matchPublic(sh *shard, hashes []int64, r *Result) {
	sh.RLock()
	defer sh.RUnlock()
	v := x.view.Load()
	var at uint32
	r.hashes = r.hashes[:0]
	for _, hash := range hashes {
		next, ok := sh.publics.byHash[hash]
		if !ok || sh.at(next).parent != at {
			break
		}
		r.hashes = append(r.hashes, sh.at(next).hash)
		at = next
	}
	if at == 0 {
		return
	}
	s := v.numbered[sh.at(at).shape]
	if s.size == 0 {
		return // not published yet
	}
	r.walk.run(sh, v, r.hashes, x.tick())
	r.Shared = max(r.Shared, r.walk.shared*int(s.size))
	r.collect(v, s)
}
