package coretest

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
)

// Prefixes is a prefix view by hand: one answer for every request and source.
// Engines are told apart by address, byte for byte, as prefix sources do.
type Prefixes struct {
	Answer  policy.Lookup
	depths  map[string]uint64
	sent    map[string]uint64
	lookups []string
}

// Hit makes the answer a hit for a query of some blocks.
func (p *Prefixes) Hit(blocks uint64) {
	p.Answer = policy.Lookup{Outcome: policy.LookupHit, Blocks: blocks}
}

// Hold adds a match: an address that holds blocks of the query. Of several for
// one address the deepest counts.
func (p *Prefixes) Hold(address string, blocks uint64) {
	if p.depths == nil {
		p.depths = map[string]uint64{}
	}
	p.depths[address] = max(p.depths[address], blocks)
}

// Drop takes all matches back.
func (p *Prefixes) Drop() { clear(p.depths) }

// Lookup gives the answer.
func (p *Prefixes) Lookup(source string, _ uint64, _ *core.PickRequest) policy.Lookup {
	p.lookups = append(p.lookups, source)
	return p.Answer
}

// Depth gives the blocks that the worker's address holds.
func (p *Prefixes) Depth(_ string, w *core.Worker) uint64 { return p.depths[w.Address] }

// Send notes that an address was sent blocks that it did not hold.
func (p *Prefixes) Send(address string, blocks uint64) {
	if p.sent == nil {
		p.sent = map[string]uint64{}
	}
	p.sent[address] += blocks
}

// Sent gives the blocks that the worker's address was sent.
func (p *Prefixes) Sent(_ string, w *core.Worker) uint64 { return p.sent[w.Address] }

// Lookups lists the sources that were asked, in order.
func (p *Prefixes) Lookups() []string { return p.lookups }
