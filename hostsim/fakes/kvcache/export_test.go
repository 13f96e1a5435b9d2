package kvcache

import "fmt"

// Insert stores a prompt as a request that is over would.
func (r *Radix) Insert(tokens []uint32, ns Namespace) {
	s := &branch{tree: r, ns: ns, tokens: tokens}
	s.hashTo(len(tokens) / r.cfg.BlockSize)
	_, added := r.insert(ns, s.hashes, tokens)
	r.free -= added
}

// Evict gives up pages.
func (r *Radix) Evict(pages int) { r.evict(pages) }

// Sane checks that every page is somewhere.
func (r *Radix) Sane(sequences []Sequence) error {
	pages := r.free
	for _, root := range r.roots {
		root.visit(func(n *page) { pages += len(n.hashes) })
	}
	for _, s := range sequences {
		pages += s.(*branch).own
	}
	if pages != r.cfg.Blocks {
		return fmt.Errorf("%d pages of %d", pages, r.cfg.Blocks)
	}
	return nil
}

// Sane checks that every block is in the queue or in use.
func (p *Pool) Sane(sequences []Sequence) error {
	users, queued := 0, 0
	for i := p.blocks[0].next; i != 0; i = p.blocks[i].next {
		queued++
		if p.blocks[i].users != 0 {
			return fmt.Errorf("block %d is free and used", i)
		}
	}
	for _, s := range sequences {
		users += len(s.(*pooled).blocks)
	}
	held := 0
	for i := range p.blocks {
		held += p.blocks[i].users
	}
	if queued+p.cfg.Blocks-(len(p.blocks)-1) != p.free || held != users {
		return fmt.Errorf("%d queued, %d free; %d held, %d users", queued, p.free, held, users)
	}
	return nil
}
